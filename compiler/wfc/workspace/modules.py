"""Compares generated modules and their line maps with those on disk, writes and removes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from wfc.compiler import Compilation, compile_project
from wfc.config import Config, find_root, real
from wfc.findings import Diagnostic
from wfc.project import Drift, DriftKind, Project, SourceFile, drift_of, map_drift_of, without_repeats
from wfc.rules import BY_CODE
from wfc.struct import replace
from wfc.workspace.cache import Snapshot
from wfc.workspace.files import Selection, recorded_path, replace_file, writing
from wfc.workspace.loading import load_project
from wfc.yaml import Document, Source
from wfc_runtime.header import read_header
from wfc_runtime.line_map import map_path, read_line_map
from wfc_runtime.trust import generated_paths

Remedy = Callable[[Drift, str], str]
"""What to do about a file that is not what it should be and is made from this workflow; empty for the usual."""


@dataclass(frozen=True, slots=True)
class Build:
    """The result of compiling some files, and how it differs from the modules on disk."""

    compilation: Compilation
    drift: list[Drift]
    findings: list[Diagnostic]
    """The findings of the workflows, then those of the modules."""


def build(
    selection: Selection,
    folder: Path,
    *,
    check_only: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
    snapshot: Snapshot | None = None,
    remedy: Remedy = lambda drift, source: "",
) -> Build:
    """Compile the selected files and compare the result with a folder. Nothing is written."""
    project, files = load_project(selection, snapshot=snapshot)
    project.progress = progress
    recorded = {
        file: recorded_path(path, selection.config.root) for path, file in files.items() if not file.is_test
    }
    compilation = compile_project(project, recorded)
    drift = find_drift(compilation, folder, selection, set(recorded.values()), remedy)
    findings = compilation.findings + _drift_findings(project, drift, check_only)
    return Build(compilation, drift, findings)


def find_drift(
    compilation: Compilation,
    folder: Path,
    selection: Selection,
    recorded: set[str],
    remedy: Remedy = lambda drift, source: "",
) -> list[Drift]:
    """All differences between the folder and the compiled modules. Drift of a known source is recorded in its file."""
    if folder.exists() and not folder.is_dir():
        raise click.ClickException(f"`{folder}` is a file; modules go into a folder")
    found: list[Drift] = []
    for module in compilation.modules:
        path = folder / module.file_name
        drift = drift_of(str(path), _read(path), module.text, module.file.source.text)
        beside = map_path(path)
        map_drift = map_drift_of(str(beside), _read(beside), module.line_map)
        source = module.file.source.path
        both = [_with_remedy(one, source, remedy) for one in (drift, map_drift) if one]
        module.file.drift += both
        # The map first: a server that sees a new module then finds the map that belongs to it.
        found += reversed(both)
    orphans = _orphans(compilation, folder, selection, recorded)
    return found + [_with_remedy(one, "", remedy) for one in orphans]


def _with_remedy(drift: Drift, source: str, remedy: Remedy) -> Drift:
    said = remedy(drift, source)
    return replace(drift, remedy=said) if said else drift


def _orphans(compilation: Compilation, folder: Path, selection: Selection, recorded: set[str]) -> list[Drift]:
    """Files in the folder whose source was removed; only sources that this command covers count."""
    if not selection.folders or not folder.is_dir() or _is_shared(folder, selection.config):
        return []
    kept = {folder / module.file_name for module in compilation.modules}
    kept |= {map_path(path) for path in kept}
    scopes = [
        recorded_path(place / "x", selection.config.root).removesuffix("x") for place in selection.folders
    ]
    found: list[Drift] = []
    for path in generated_paths(folder):
        text = _read(path) if path not in kept else None
        source = _source_of(path, text) if text is not None else None
        if source is None or not any(source.startswith(scope) for scope in scopes):
            continue
        renamed = source in recorded and not _is_broken(source, compilation)
        if source not in recorded or renamed:
            found.append(Drift(DriftKind.ORPHANED, str(path), text, None))
    return found


def _source_of(path: Path, text: str) -> str | None:
    """The source that a generated file names; None for a file that wfc did not generate."""
    found = read_header(text) if path.suffix == ".py" else read_line_map(text)
    return found.path if found else None


def _is_shared(folder: Path, config: Config) -> bool:
    """Without a project, modules of several source folders share one folder, so a module without a source here may
    belong to another folder."""
    here = real(Path("."))
    return find_root(config.root) is None and config.root != here and real(folder) == here / config.generated


def _is_broken(recorded: str, compilation: Compilation) -> bool:
    """A workflow with errors keeps its existing module."""
    return recorded not in {read.path for module in compilation.modules if (read := read_header(module.text))}


def _read(path: Path) -> str | None:
    try:
        # A file that is not UTF-8 differs from every module and is then reported as drift.
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise click.ClickException(f"can't read `{path}`: {error.strerror}") from error


def apply_drift(found: list[Drift], folder: Path) -> None:
    """Write and remove files to resolve the drift. Files that wfc did not generate are not touched."""
    if found:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    for drift in found:
        path = Path(drift.path)
        with writing(path):
            if drift.after is None:
                path.unlink(missing_ok=True)
            elif drift.condition is not DriftKind.FOREIGN:
                replace_file(path, drift.after.encode())


def _drift_findings(project: Project, drift: list[Drift], check_only: bool) -> list[Diagnostic]:
    """With --check every difference is a finding; otherwise only a foreign file with the name of a module is."""
    # Rules run on files, and orphaned modules have no source: an empty file stands in for it.
    gone = SourceFile(Source("", ""), Document(None, []), project.config, None, project)
    for file in project.files:
        foreign = [item for item in file.drift if item.condition is DriftKind.FOREIGN]
        file.drift = without_repeats(file.drift) if check_only else foreign
    if check_only:
        gone.drift = without_repeats([item for item in drift if item.condition is DriftKind.ORPHANED])
    rules = (BY_CODE["WF701"], BY_CODE["WF702"])
    return [found for file in (*project.files, gone) for rule in rules for found in rule.run(file)]
