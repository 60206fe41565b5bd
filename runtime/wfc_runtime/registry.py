"""The registry of generated modules: finds them, checks their digests, loads them, and reloads changed ones."""

from __future__ import annotations

import re
import sys
import types
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock

from wfc_runtime.errors import DefinitionError, NotFoundError, guess
from wfc_runtime.header import FORMAT, RUNNABLE, Header, read_header
from wfc_runtime.line_map import Lines, map_path, read_line_map
from wfc_runtime.machine.chart import Workflow
from wfc_runtime.trust import Stamp, Trust, UntrustedError, module_paths, read_module, stamp_of

# Loaded versions kept in memory. The least recently loaded one is dropped; the folder or the store still has
# its text.
_PINNED = 64
_FIRST_WITH_MAP = 3
"""The first module format with a separate line map."""
_COMPILE = "Run `wfc compile`. Until then, YAML line numbers are not shown for this workflow."
_Stamps = tuple[Stamp, Stamp | None]
"""The stamps of a module and of its line map."""


@dataclass(frozen=True)
class Module:
    """A loaded version of a workflow."""

    workflow: Workflow
    digest: str
    """The digest of the module's body; runs are pinned to it."""
    text: str
    source: str
    """The path of the YAML source, from the header."""
    line_map: str | None = None
    """The text of its line map, if that is usable."""
    map_error: DefinitionError | None = None
    """Why its line map can't be used."""

    def place_of(self, machine: str, state: str) -> str:
        """The place in the YAML that a state comes from."""
        line = self.workflow.lines.get(machine, {}).get(state)
        return f"{self.source}:{line}" if line else self.source


class Registry:
    """The modules of one folder, and the older versions that runs still need.

    Without `trust`, every file whose digest matches is executed: for commands that load the folder when they start.
    """

    def __init__(self, folder: Path, trust: Trust | None = None) -> None:
        self.folder = folder
        self._trust = trust
        self._files: dict[Path, tuple[_Stamps, Module | DefinitionError | None]] = {}
        self._by_digest: OrderedDict[str, Module] = OrderedDict()
        # Re-entrant: `find` calls `modules`, and both are called by threads of the server.
        self._lock = RLock()

    def find(self, name: str) -> Module:
        """The current version of a workflow."""
        with self._lock:
            found = self._likely(name)
            if isinstance(found, DefinitionError):
                # The stored exception is raised many times; each raise would otherwise add to its traceback
                # and keep frames alive.
                raise found.with_traceback(None)
            if found is not None and found.workflow.name == name:
                return found
            for module in self.modules():
                if module.workflow.name == name:
                    return module
            raise self._unknown(name)

    def modules(self) -> list[Module]:
        """All usable modules, sorted by workflow name."""
        with self._lock:
            paths = module_paths(self.folder)
            found = [module for path in paths if isinstance(module := self._look_at(path), Module)]
            return sorted(found, key=lambda module: module.workflow.name)

    def problems(self) -> list[DefinitionError]:
        """Why the other modules, or some line maps, can't be used."""
        with self._lock:
            found = [self._look_at(path) for path in module_paths(self.folder)]
            errors = [one.map_error if isinstance(one, Module) else one for one in found]
            return [error for error in errors if error is not None]

    def hidden(self) -> list[tuple[str, str]]:
        """Workflows that are not offered because another one has their name, each with its file."""
        return []

    def is_from_library(self, name: str) -> bool:
        """Whether the workflow is one of the library that wfc ships, not of the project."""
        return False

    def of_digest(self, digest: str) -> Module | None:
        """A version that is already loaded in this process."""
        with self._lock:
            return self._by_digest.get(digest)

    def vouch(self, digest: str, text: str, line_map: str | None = None) -> Module | None:
        """The version of a digest, if this project has it in its folder or can compile it from a source. `text` is
        untrusted: it is executed only if a source compiles to exactly this text. The same rule holds for `line_map`."""
        with self._lock:
            known = self._by_digest.get(digest)
            found = known or next((module for module in self.modules() if module.digest == digest), None)
            header = read_header(text)
            # The digest of the body must match too: a header can be copied onto another text.
            if found is not None or header is None or header.edited or header.body != digest:
                return found
            if self._trust is None or not self._trust.is_compiled(header.path, text):
                return None
            is_own = line_map is not None and self._trust.is_compiled(header.path, line_map)
            return self.pin(digest, text, line_map if is_own else None)

    def pin(self, digest: str, text: str, line_map: str | None = None) -> Module:
        """A version whose text the store has kept. The store is trusted, so the text is executed."""
        with self._lock:
            known = self._by_digest.get(digest)
            if known is not None:
                return known
            where = f"the stored module {digest[:12]}"
            module = self._load(text, where, formats=RUNNABLE, line_map=line_map)
            if module is None or module.digest != digest:
                raise DefinitionError(
                    "module_edited", f"the stored module {digest[:12]} does not match its digest"
                )
            return module

    def take(self, text: str, line_map: str | None = None) -> Module:
        """A module that was just compiled and is in no file."""
        with self._lock:
            module = self._load(text, "the module", line_map=line_map)
            if module is None:
                raise DefinitionError("module_broken", "the module has no wfc header")
            return module

    def _unknown(self, name: str) -> NotFoundError | DefinitionError:
        names = [module.workflow.name for module in self.modules()]
        broken = self.problems()
        if not names and not broken:
            return NotFoundError(
                "unknown_workflow", f"{self.folder} has no compiled workflows", "Run `wfc compile` first."
            )
        skipped = f" Not usable: {'; '.join(map(str, broken))}" if broken else ""
        hint = f"{guess(name, names)}Workflows: {', '.join(names)}.{skipped}"
        return NotFoundError("unknown_workflow", f"there is no workflow `{name}`", hint)

    # -- files -----------------------------------------------------------------

    def _likely(self, name: str) -> Module | DefinitionError | None:
        """The file that is usually named after the workflow: most calls need not look at the others."""
        return self._look_at(self.folder / f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}.py")

    def _look_at(self, path: Path) -> Module | DefinitionError | None:
        """The current content of a file; None if it was not generated by wfc."""
        try:
            stamps = (stamp_of(path), _stamp_if_any(map_path(path)))
        except OSError:
            self._files.pop(path, None)
            return None
        # A refusal is remembered like a module, so that an invalid file is not read on each call.
        known = self._files.get(path)
        if known is not None and known[0] == stamps and not self._may_change(known[1]):
            return known[1]
        found = self._read(path)
        self._files[path] = (stamps, found)
        return found

    def _may_change(self, found: Module | DefinitionError | None) -> bool:
        """Whether the result for an unchanged file may have changed: a refusal is retried when the sources changed."""
        error = found.map_error if isinstance(found, Module) else found
        return isinstance(error, UntrustedError) and self._trust is not None and self._trust.may_change(error)

    def _read(self, path: Path) -> Module | DefinitionError | None:
        try:
            return self._load(read_module(path).decode("utf-8"), str(path), path)
        except DefinitionError as error:
            return error
        except (OSError, UnicodeDecodeError) as error:
            return DefinitionError("module_broken", f"{path} can't be read: {error}")

    def _load(
        self,
        text: str,
        where: str,
        path: Path | None = None,
        formats: Collection[int] = (FORMAT,),
        line_map: str | None = None,
    ) -> Module | None:
        """Execute a text, unless it is in an untrusted file."""
        header = read_header(text)
        if header is None:
            return None
        if header.edited:
            raise DefinitionError(
                "module_edited",
                f"{where} has been edited: its body does not match its digest",
                f"Change {header.path} and run `wfc compile`.",
            )
        if header.format not in formats:
            raise DefinitionError(
                "module_format",
                f"{where} has module format {header.format}, but this version of wfc needs format {FORMAT}",
                "Compile it with this version of wfc.",
            )
        # Before anything is executed.
        if path is not None and self._trust is not None:
            self._trust.check(path, header.path, text)
        # A version that is already loaded is not executed again: its classes are the keys of several caches.
        known = self._by_digest.get(header.body)
        workflow = known.workflow if known else _execute(text, header.body, where)
        module = Module(workflow, header.body, text, header.path)
        if header.format >= _FIRST_WITH_MAP:
            module = self._with_lines(module, header, path, line_map)
        self._keep(module)
        return module

    def _with_lines(self, module: Module, header: Header, path: Path | None, line_map: str | None) -> Module:
        """Add the lines of its map to a module. Lines are only displayed: the module also works without them."""
        lines: Lines = {}
        error = None
        try:
            if path is not None:
                line_map = self._read_map(map_path(path), header)
            if line_map is not None:
                lines = _lines(line_map, header, "the line map")
        except DefinitionError as refused:
            line_map, error = None, refused
        # Replaced only if lines differ, so that unchanged modules keep their identity.
        # A version that is already loaded may get new lines: only a comment of its source has changed.
        workflow = (
            module.workflow if module.workflow.lines == lines else replace(module.workflow, lines=lines)
        )
        return replace(module, workflow=workflow, line_map=line_map, map_error=error)

    def _read_map(self, path: Path, header: Header) -> str:
        try:
            text = read_module(path).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DefinitionError("map_missing", f"{path} can't be read: {error}", _COMPILE) from error
        # The digest first: an edited map needs no compilation to be refused.
        _lines(text, header, str(path))
        if self._trust is not None:
            self._trust.check(path, header.path, text)
        return text

    def _keep(self, module: Module) -> None:
        self._by_digest[module.digest] = module
        self._by_digest.move_to_end(module.digest)
        while len(self._by_digest) > _PINNED:
            # `sys.modules` would keep the evicted module alive.
            gone, _ = self._by_digest.popitem(last=False)
            sys.modules.pop(_module_name(gone), None)


def _lines(text: str, header: Header, where: str) -> Lines:
    """The lines of a map, if it was generated together with the module of that header."""
    found = read_line_map(text)
    if found is None or found.edited:
        raise DefinitionError(
            "map_edited", f"{where} has been edited: it does not match its digest", _COMPILE
        )
    if (found.path, found.source) != (header.path, header.source):
        raise DefinitionError("map_stale", f"{where} belongs to another version of the module", _COMPILE)
    return found.lines


def _stamp_if_any(path: Path) -> Stamp | None:
    try:
        return stamp_of(path)
    except OSError:
        return None


def _module_name(digest: str) -> str:
    return f"wfc_generated_{digest[:32]}"


def _execute(text: str, digest: str, where: str) -> Workflow:
    """Execute a module's text under a unique name, since several versions of a workflow may be loaded together."""
    name = _module_name(digest)
    module = types.ModuleType(name)
    # Annotations are resolved through sys.modules, so the module must be there before it is executed.
    sys.modules[name] = module
    try:
        exec(compile(text, where, "exec", dont_inherit=True), vars(module))
        workflow = vars(module)["WORKFLOW"]
    except Exception as error:
        sys.modules.pop(name, None)
        raise DefinitionError(
            "module_broken",
            f"{where} can't be loaded: {type(error).__name__}: {error}",
            "Run `wfc compile` again.",
        ) from error
    _unregister(name)
    assert isinstance(workflow, Workflow)
    return workflow


def _unregister(name: str) -> None:
    """Remove a module's machines from the global table of python-statemachine, which would keep every class alive."""
    from statemachine.registry import _REGISTRY

    # A copy: another thread may load a module at the same time.
    for key in [key for key in list(_REGISTRY) if key.startswith(f"{name}.")]:
        _REGISTRY.pop(key, None)
