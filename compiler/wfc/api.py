"""The Python API: what `wfc.check` and `wfc.compile` return. Import these names from `wfc` itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from wfc.checker import check_project
from wfc.config import ConfigError
from wfc.findings import Diagnostic, Redaction
from wfc.workspace.files import Selection, modules_folder, select
from wfc.workspace.loading import load_project
from wfc.workspace.modules import build

StrPath = str | os.PathLike[str]


class ProjectError(Exception):
    """A path does not exist, a file can't be read, or a setting in pyproject.toml is invalid."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, as `wfc check --format json` prints it, without `notes` and `fix`. Lines and columns begin at 1."""

    code: str
    """Such as `WF301`. docs/checks.md explains each."""
    name: str
    severity: Literal["error", "warning", "info"]
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    """One past the last character."""
    message: str
    help: str
    """The remedy; may be empty."""
    fixable: bool
    """Whether `wfc check --fix`, perhaps with `--unsafe-fixes`, can fix it."""
    step: str | None
    """The id of the step that it is about."""


@dataclass(frozen=True, slots=True)
class Module:
    """One compiled workflow."""

    workflow: str
    source: str
    """The path of the workflow file."""
    path: Path
    """Where `wfc compile` puts the module."""
    text: str
    """The Python source."""
    files: dict[str, str]
    """All files that belong in the folder, by name: the module, and its map to lines of the source."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """The modules of all workflows without errors, and the findings of all workflows."""

    modules: list[Module]
    findings: list[Finding]

    def write(self) -> None:
        """Write the modules. Existing files are replaced; no other file is removed."""
        for module in self.modules:
            module.path.parent.mkdir(parents=True, exist_ok=True)
            for name, text in module.files.items():
                module.path.with_name(name).write_text(text, encoding="utf-8")


def check(paths: StrPath | Iterable[StrPath] = ()) -> list[Finding]:
    """The body of `wfc.check`."""
    with _plain_errors():
        project, _ = load_project(_select(paths), with_runs=True)
        return _findings(check_project(project))


def compile_paths(paths: StrPath | Iterable[StrPath] = ()) -> Compilation:
    """The body of `wfc.compile`."""
    with _plain_errors():
        selection = _select(paths)
        folder = modules_folder(selection.config)
        found = build(selection, folder).compilation
    modules = [
        Module(one.file.name or "", one.file.source.path, folder / one.file_name, one.text, dict(one.files))
        for one in found.modules
    ]
    return Compilation(modules, _findings(found.findings))


def _select(paths: StrPath | Iterable[StrPath]) -> Selection:
    several = (paths,) if isinstance(paths, str | os.PathLike) else paths
    return select(tuple(os.fspath(path) for path in several))


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turns errors of the command line into `ProjectError`, so that callers do not depend on click."""
    try:
        yield
    except click.ClickException as error:
        raise ProjectError(error.message) from error
    except ConfigError as error:
        raise ProjectError(str(error)) from error


def _findings(found: list[Diagnostic]) -> list[Finding]:
    mask = Redaction(found)
    return [
        Finding(
            code=one.code,
            name=one.name,
            severity=one.severity.value,
            file=one.path,
            line=one.span.line,
            column=one.span.column,
            end_line=one.span.end_line,
            end_column=one.span.end_column,
            message=mask.finding(one).message,
            help=mask.finding(one).help,
            fixable=one.fix is not None,
            step=one.step,
        )
        for one in found
    ]
