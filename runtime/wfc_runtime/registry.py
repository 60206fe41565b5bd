"""Generated modules: found, checked against their digest, loaded, and loaded again when they have changed."""

from __future__ import annotations

import re
import sys
import types
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from wfc_runtime.errors import DefinitionError, NotFoundError, guess
from wfc_runtime.header import FORMAT, RUNNABLE, read_header
from wfc_runtime.machine.chart import Workflow
from wfc_runtime.trust import Stamp, Trust, UntrustedError, module_paths, read_module, stamp_of

_PINNED = 64


@dataclass(frozen=True)
class Module:
    """One version of a workflow, loaded."""

    workflow: Workflow
    digest: str
    """Of the module's body: what a run is pinned to."""
    text: str
    source: str
    """The path of the YAML, as the header has it."""

    def place_of(self, machine: str, state: str) -> str:
        """Where in the YAML a state comes from."""
        line = self.workflow.lines.get(machine, {}).get(state)
        return f"{self.source}:{line}" if line else self.source


class Registry:
    """The modules of one folder, and the older versions that runs still need.

    Without `trust` every file whose digest holds is executed: for commands that load the folder as they start.
    """

    def __init__(self, folder: Path, trust: Trust | None = None) -> None:
        self.folder = folder
        self._trust = trust
        self._files: dict[Path, tuple[Stamp, Module | DefinitionError | None]] = {}
        self._by_digest: OrderedDict[str, Module] = OrderedDict()
        self._lock = RLock()

    def find(self, name: str) -> Module:
        """The current version of a workflow."""
        with self._lock:
            likely = self.folder / f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}.py"
            found = self._look_at(likely)
            if isinstance(found, DefinitionError):
                raise found.with_traceback(None)
            if found is not None and found.workflow.name == name:
                return found
            for module in self.modules():
                if module.workflow.name == name:
                    return module
            raise self._unknown(name)

    def modules(self) -> list[Module]:
        """Every module that can be used, by the name of its workflow."""
        with self._lock:
            paths = module_paths(self.folder)
            found = [module for path in paths if isinstance(module := self._look_at(path), Module)]
            return sorted(found, key=lambda module: module.workflow.name)

    def problems(self) -> list[DefinitionError]:
        """Why the other modules can't be used."""
        with self._lock:
            paths = module_paths(self.folder)
            return [error for path in paths if isinstance(error := self._look_at(path), DefinitionError)]

    def of_digest(self, digest: str) -> Module | None:
        """A version that has been loaded in this process."""
        with self._lock:
            return self._by_digest.get(digest)

    def vouch(self, digest: str, text: str) -> Module | None:
        """The version of that digest if this project has it, in the folder or in its sources. `text` comes from
        outside, and is executed only if a source compiles to it."""
        with self._lock:
            known = self._by_digest.get(digest)
            found = known or next((module for module in self.modules() if module.digest == digest), None)
            header = read_header(text)
            if found is not None or header is None or header.edited or header.body != digest:
                return found
            return (
                self.pin(digest, text) if self._trust and self._trust.is_compiled(header.path, text) else None
            )

    def pin(self, digest: str, text: str) -> Module:
        """A version whose text the store has kept. The store is trusted: the text is executed."""
        with self._lock:
            known = self._by_digest.get(digest)
            if known is not None:
                return known
            module = self._load(text, f"the kept module {digest[:12]}", formats=RUNNABLE)
            if module is None or module.digest != digest:
                raise DefinitionError(
                    "module_edited", f"the kept module {digest[:12]} is not what its digest says"
                )
            return module

    def take(self, text: str) -> Module:
        """A module that was just made and stands in no file."""
        with self._lock:
            module = self._load(text, "the module")
            if module is None:
                raise DefinitionError("module_broken", "the module has no header of wfc's")
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

    def _look_at(self, path: Path) -> Module | DefinitionError | None:
        """What a file holds now. None: nothing that wfc made."""
        try:
            stamp = stamp_of(path)
        except OSError:
            self._files.pop(path, None)
            return None
        known = self._files.get(path)
        if known is not None and known[0] == stamp and not self._may_change(known[1]):
            return known[1]
        found = self._read(path)
        self._files[path] = (stamp, found)
        return found

    def _may_change(self, found: Module | DefinitionError | None) -> bool:
        """Whether a file that has not changed may be something else now."""
        return isinstance(found, UntrustedError) and self._trust is not None and self._trust.may_change(found)

    def _read(self, path: Path) -> Module | DefinitionError | None:
        try:
            return self._load(read_module(path).decode("utf-8"), str(path), path)
        except DefinitionError as error:
            return error
        except (OSError, UnicodeDecodeError) as error:
            return DefinitionError("module_broken", f"{path} can't be read: {error}")

    def _load(
        self, text: str, where: str, path: Path | None = None, formats: Collection[int] = (FORMAT,)
    ) -> Module | None:
        """Execute a text, unless it stands in a file that is not trusted."""
        header = read_header(text)
        if header is None:
            return None
        if header.edited:
            raise DefinitionError(
                "module_edited",
                f"{where} has been edited: its body is not what its digest says",
                f"Change {header.path} and run `wfc compile`.",
            )
        if header.format not in formats:
            raise DefinitionError(
                "module_format",
                f"{where} has module format {header.format}, this version of wfc runs format {FORMAT}",
                "Compile it with this version of wfc.",
            )
        if path is not None and self._trust is not None:
            self._trust.check(path, header.path, text)
        known = self._by_digest.get(header.body)
        module = Module(
            workflow=known.workflow if known else _execute(text, header.body, where),
            digest=header.body,
            text=text,
            source=header.path,
        )
        self._keep(module)
        return module

    def _keep(self, module: Module) -> None:
        self._by_digest[module.digest] = module
        self._by_digest.move_to_end(module.digest)
        while len(self._by_digest) > _PINNED:
            gone, _ = self._by_digest.popitem(last=False)
            sys.modules.pop(_module_name(gone), None)


def _module_name(digest: str) -> str:
    return f"wfc_generated_{digest[:32]}"


def _execute(text: str, digest: str, where: str) -> Workflow:
    """Run a module's text, under a name of its own: several versions of a workflow live side by side."""
    name = _module_name(digest)
    module = types.ModuleType(name)
    # Annotations are resolved through sys.modules.
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
    _let_go(name)
    assert isinstance(workflow, Workflow)
    return workflow


def _let_go(name: str) -> None:
    """Take a module's machines out of the library's own table, where no class would ever be given up."""
    from statemachine.registry import _REGISTRY

    for key in [key for key in _REGISTRY if key.startswith(f"{name}.")]:
        del _REGISTRY[key]
