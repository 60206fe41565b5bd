"""Generated modules and their line maps on disk: compiled, compared with what is there, written and removed."""

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
from wfc.workspace.cache import Snapshot
from wfc.workspace.files import Selection, recorded_path, replace_file, writing
from wfc.workspace.loading import load_project
from wfc.yaml import Document, Source
from wfc_runtime.header import read_header
from wfc_runtime.line_map import map_path, read_line_map
from wfc_runtime.trust import generated_paths


@dataclass(frozen=True, slots=True)
class Build:
    """The result of compiling some files, and how it differs from the modules on disk."""

    compilation: Compilation
    drift: list[Drift]
    findings: list[Diagnostic]
    """Those of the workflows, then those of the modules."""


def build(
    selection: Selection,
    folder: Path,
    *,
    check_only: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
    snapshot: Snapshot | None = None,
) -> Build:
    """Compile the selected files and compare the result with a folder. Nothing is written."""
    project, files = load_project(selection, snapshot=snapshot)
    project.progress = progress
    recorded = {
        file: recorded_path(path, selection.config.root) for path, file in files.items() if not file.is_test
    }
    compilation = compile_project(project, recorded)
    drift = find_drift(compilation, folder, selection, set(recorded.values()))
    findings = compilation.findings + _drift_findings(project, drift, check_only)
    return Build(compilation, drift, findings)


def find_drift(
    compilation: Compilation, folder: Path, selection: Selection, recorded: set[str]
) -> list[Drift]:
    """All that differs between the folder and what was compiled. Drift of a known source is noted in its file."""
    if folder.exists() and not folder.is_dir():
        raise click.ClickException(f"`{folder}` is a file; modules go into a folder")
    found: list[Drift] = []
    for module in compilation.modules:
        path = folder / module.file_name
        drift = drift_of(str(path), _read(path), module.text, module.file.source.text)
        beside = map_path(path)
        map_drift = map_drift_of(str(beside), _read(beside), module.line_map)
        module.file.drift += [one for one in (drift, map_drift) if one]
        # The map first: a server that sees a new module finds the map that was made with it.
        found += [one for one in (map_drift, drift) if one]
    return found + _orphans(compilation, folder, selection, recorded)


def _orphans(compilation: Compilation, folder: Path, selection: Selection, recorded: set[str]) -> list[Drift]:
    """Files in the folder whose source would have been compiled now if it were still there."""
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
    """The source that a generated file names, or None for a file that wfc did not make."""
    found = read_header(text) if path.suffix == ".py" else read_line_map(text)
    return found.path if found else None


def _is_shared(folder: Path, config: Config) -> bool:
    """Without a project, modules of any folder go into the one here: what one lacks may be another's."""
    here = real(Path("."))
    return find_root(config.root) is None and config.root != here and real(folder) == here / config.generated


def _is_broken(recorded: str, compilation: Compilation) -> bool:
    """A workflow that did not compile keeps the module it had."""
    return recorded not in {read.path for module in compilation.modules if (read := read_header(module.text))}


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise click.ClickException(f"can't read `{path}`: {error.strerror}") from error


def apply_drift(found: list[Drift], folder: Path) -> None:
    """Write what should be there and remove what should not. A file that wfc did not make is left alone."""
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
    """With --check every difference is a finding; without it only a file in the way is."""
    gone = SourceFile(Source("", ""), Document(None, []), project.config, None, project)
    for file in project.files:
        foreign = [item for item in file.drift if item.condition is DriftKind.FOREIGN]
        file.drift = without_repeats(file.drift) if check_only else foreign
    if check_only:
        gone.drift = without_repeats([item for item in drift if item.condition is DriftKind.ORPHANED])
    rules = (BY_CODE["WF701"], BY_CODE["WF702"])
    return [found for file in (*project.files, gone) for rule in rules for found in rule.run(file)]
