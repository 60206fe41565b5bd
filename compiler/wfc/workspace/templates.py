"""Workflow folders in addition to those of the project: `WORKFLOWS_TEMPLATE_PATHS`, separated by commas, the user's own
`~/.aromcp/workflows`, and the library that wfc ships.

Their YAML is compiled in memory when a server first needs it, and again when a file has changed; the library is shipped
with its compiled modules. A workflow in a later folder overrides one of the same name in an earlier folder, and all of
them override those of the project, except for the user's and the library: a workflow of the project hides one of the
same name there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wfc.config import Config
from wfc.findings import Diagnostic, Severity
from wfc.testfiles import is_test_file
from wfc.workspace.files import Selection, is_source_name, read_bytes
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
        self._library = _Shipped(library, self) if library else None

    def find(self, name: str) -> Module:
        with self._lock:
            self._refresh()
            if name in self._own:
                return self._own.module(name)
            if self._has_user(name):
                return self._users.module(name)
            return self._in_library(name) or super().find(name)

    def is_from_library(self, name: str) -> bool:
        with self._lock:
            self._refresh()
            return name not in self._own and not self._has_user(name) and self._in_library(name) is not None

    def _has_user(self, name: str) -> bool:
        return name in self._users and not self._is_of_project(name)

    def _in_library(self, name: str) -> Module | None:
        """The library's workflow of the name, unless the project has one."""
        found = self._library.named(name) if self._library else None
        return None if found is None or self._is_of_project(name) else found

    def _is_of_project(self, name: str) -> bool:
        # A module that can't be used hides others too: they must not be started in its place.
        return isinstance(self._likely(name), DefinitionError) or name in self._names_of_project()

    def modules(self) -> list[Module]:
        with self._lock:
            self._refresh()
            found = [module for module in super().modules() if module.workflow.name not in self._own]
            found += self._own.modules.values()
            library = self._library.modules() if self._library else []
            for last in (self._users.modules.values(), library):
                names = {module.workflow.name for module in found} | {*self._own.broken}
                found += [module for module in last if module.workflow.name not in names]
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


class _Shipped(Registry):
    """The library. Its modules are shipped with wfc and are loaded like its own code, without reading their sources."""

    def __init__(self, library: Path, shown_with: Registry) -> None:
        super().__init__(library / "generated")
        self._root = library
        # One table of loaded versions, so that none is executed twice.
        self._by_digest = shown_with._by_digest

    def named(self, name: str) -> Module | None:
        """The workflow of a name. No other module is loaded."""
        found = self._likely(name)
        return found if isinstance(found, Module) and found.workflow.name == name else None

    def _read(self, path: Path) -> Module | DefinitionError | None:
        found = super()._read(path)
        if not isinstance(found, Module):
            return found
        # The path in its header is relative to the library, and others are relative to the project.
        module = replace(found, source=str(self._root / found.source))
        self._keep(module)
        return module


class _Compiled:
    """The workflows of some folders, compiled again when a file changes."""

    def __init__(self, config: Config, folders: list[Path]) -> None:
        self._config = config
        self._folders = folders
        self._stamps: _Stamps = {}
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
        # Only servers with such folders need the compiler.
        from wfc.compiler import compile_project
        from wfc.workspace.loading import load_project

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
        from wfc.project import Project, load_file

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
