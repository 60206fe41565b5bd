"""Workflow folders in addition to those of the project: `WORKFLOWS_TEMPLATE_PATHS`, separated by commas, the user's own
`~/.aromcp/workflows`, and the library that wfc ships.

Their YAML is compiled in memory when a server first needs it, and again when a file has changed. A workflow in a later
folder overrides one of the same name in an earlier folder, and all of them override those of the project, except for
the user's and the library: a workflow of the project hides one of the same name there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wfc.compiler import compile_project
from wfc.config import Config
from wfc.findings import Diagnostic, Severity
from wfc.project import Project, load_file
from wfc.testfiles import is_test_file
from wfc.workspace.files import Selection, is_source_name, read_bytes
from wfc.workspace.loading import load_project
from wfc_runtime.errors import DefinitionError
from wfc_runtime.header import read_header
from wfc_runtime.registry import Module, Registry
from wfc_runtime.trust import Trust

_Stamps = dict[Path, tuple[int, int]]


class TemplateRegistry(Registry):
    """The compiled workflows of the project, overridden by those of the folders. Those of the user and of the library
    come last."""

    def __init__(
        self,
        config: Config,
        generated: Path,
        folders: Iterable[Path],
        trust: Trust | None = None,
        users: Path | None = None,
        library: Path | None = None,
    ) -> None:
        super().__init__(generated, trust)
        self._folders = list(folders)
        self._own = _Compiled(config, self._folders)
        self._users = _Compiled(config, [users] if users else [])
        # With the agents of the library instead of the project's.
        self._library = _Compiled(
            Config(library) if library else config, [library / "workflows"] if library else []
        )

    def find(self, name: str) -> Module:
        with self._lock:
            self._refresh()
            if name in self._own:
                return self._own.module(name)
            for last in (self._users, self._library):
                if name in last and name not in self._names_of_project():
                    return last.module(name)
            return super().find(name)

    def modules(self) -> list[Module]:
        with self._lock:
            self._refresh()
            found = [module for module in super().modules() if module.workflow.name not in self._own]
            found += self._own.modules.values()
            for last in (self._users, self._library):
                names = {module.workflow.name for module in found} | {*self._own.broken}
                found += [module for name, module in last.modules.items() if name not in names]
            return sorted(found, key=lambda module: module.workflow.name)

    def hidden(self) -> list[tuple[str, str]]:
        with self._lock:
            self._refresh()
            taken = {*self._own.modules, *self._own.broken, *self._names_of_project()}
            return [(name, str(path)) for name, path in self._users.paths.items() if name in taken]

    def _names_of_project(self) -> set[str]:
        return {module.workflow.name for module in super().modules()}

    def problems(self) -> list[DefinitionError]:
        with self._lock:
            self._refresh()
            missing = [
                DefinitionError(
                    "template_folder", f"{folder} is not a folder", "Correct WORKFLOWS_TEMPLATE_PATHS."
                )
                for folder in self._folders
                if not folder.is_dir()
            ]
            broken = [*self._own.broken.values(), *self._users.broken.values()]
            return [*super().problems(), *broken, *missing]

    def _refresh(self) -> None:
        self._own.refresh(self)
        self._users.refresh(self)
        self._library.refresh(self)


class _Compiled:
    """The workflows of some folders, compiled again when a file changes."""

    def __init__(self, config: Config, folders: list[Path]) -> None:
        self._config = config
        self._folders = folders
        self._stamps: _Stamps | None = None
        self.paths: dict[str, Path] = {}
        self.modules: dict[str, Module] = {}
        self.broken: dict[str, DefinitionError] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.paths

    def module(self, name: str) -> Module:
        if name in self.broken:
            raise self.broken[name].with_traceback(None)
        return self.modules[name]

    def refresh(self, registry: Registry) -> None:
        stamps = {path: _stamp(path) for folder in self._folders for path in _files(folder)}
        if stamps == self._stamps:
            return
        self.modules, self.broken = {}, {}
        chosen = self.paths = self._chosen(list(stamps))
        project, files = load_project(Selection(self._config, list(chosen.values()), []))
        compilation = compile_project(project, {file: str(path) for path, file in files.items()})
        for made in compilation.modules:
            header = read_header(made.text)
            assert header is not None
            module = registry.pin(header.body, made.text, made.line_map)
            self.modules[module.workflow.name] = module
        for name in chosen.keys() - self.modules.keys():
            self.broken[name] = _broken(name, chosen[name], compilation.findings)
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
    return sorted(
        path
        for path in folder.rglob("*")
        if is_source_name(path.name) and path.is_file() and not is_test_file(path.name)
    )


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
