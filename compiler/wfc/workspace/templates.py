"""Workflow folders in addition to that of the project: `WORKFLOWS_TEMPLATE_PATHS`, separated by commas.

Their YAML is compiled in memory when a server first needs it, and again when a file has changed. A workflow in a later
folder overrides one of the same name in an earlier folder, and all of them override those of the project.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wfc.compiler import compile_project
from wfc.config import Config
from wfc.findings import Diagnostic, Severity
from wfc.project import Project, load_file
from wfc.workspace.files import ENDINGS, Selection, read_bytes
from wfc.workspace.loading import load_project
from wfc_runtime.errors import DefinitionError
from wfc_runtime.header import read_header
from wfc_runtime.registry import Module, Registry
from wfc_runtime.trust import Trust

_Stamps = dict[Path, tuple[int, int]]


class TemplateRegistry(Registry):
    """The compiled workflows of the project, overridden by those of the folders."""

    def __init__(
        self, config: Config, generated: Path, folders: Iterable[Path], trust: Trust | None = None
    ) -> None:
        super().__init__(generated, trust)
        self._config = config
        self._folders = list(folders)
        self._stamps: _Stamps | None = None
        self._own: dict[str, Module] = {}
        self._broken: dict[str, DefinitionError] = {}

    def find(self, name: str) -> Module:
        with self._lock:
            self._refresh()
            if name in self._broken:
                raise self._broken[name].with_traceback(None)
            return self._own.get(name) or super().find(name)

    def modules(self) -> list[Module]:
        with self._lock:
            self._refresh()
            taken = {*self._own, *self._broken}
            found = [module for module in super().modules() if module.workflow.name not in taken]
            return sorted([*found, *self._own.values()], key=lambda module: module.workflow.name)

    def problems(self) -> list[DefinitionError]:
        with self._lock:
            self._refresh()
            missing = [
                DefinitionError(
                    "template_folder", f"{folder} is not a folder", "Mend WORKFLOWS_TEMPLATE_PATHS."
                )
                for folder in self._folders
                if not folder.is_dir()
            ]
            return [*super().problems(), *self._broken.values(), *missing]

    # -- compiling -------------------------------------------------------------

    def _refresh(self) -> None:
        stamps = {path: _stamp(path) for folder in self._folders for path in _files(folder)}
        if stamps == self._stamps:
            return
        self._own, self._broken = {}, {}
        chosen = self._chosen(list(stamps))
        project, files = load_project(Selection(self._config, list(chosen.values()), []))
        compilation = compile_project(project, {file: str(path) for path, file in files.items()})
        for made in compilation.modules:
            header = read_header(made.text)
            assert header is not None
            module = self.pin(header.body, made.text, made.line_map)
            self._own[module.workflow.name] = module
        for name in chosen.keys() - self._own.keys():
            self._broken[name] = _broken(name, chosen[name], compilation.findings)
        self._stamps = stamps

    def _chosen(self, paths: list[Path]) -> dict[str, Path]:
        """The file of each name; the last file with a name is used."""
        found: dict[str, Path] = {}
        for path in paths:
            # Loaded alone, so that files with the same workflow name do not clash.
            file = load_file(str(path), read_bytes(path, self._config), self._config, Project(self._config))
            found[file.name or path.stem] = path
        return found


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS and path.is_file())


def _stamp(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_mtime_ns, about.st_size


def _broken(name: str, path: Path, findings: list[Diagnostic]) -> DefinitionError:
    errors = [
        f"{one.span.line}:{one.span.column} {one.code} {one.message}"
        for one in findings
        if one.severity is Severity.ERROR and one.span.source.path == str(path)
    ]
    why = "; ".join(errors[:3]) or "it contains no workflow"
    return DefinitionError("template_broken", f"{path} has no usable `{name}`: {why}", f"wfc check {path}")
