"""The modules of a worker: those in the project's folder, and every earlier version that it has used.

Code is never taken from the Temporal server, only from files: those that existed when the worker started, those that
the project's sources compile to, and those in the folder next to the store. A version is copied to that folder when it
is first used, so that a run continues with its own version after `wfc compile`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from wfc_runtime.errors import DefinitionError, WfcError
from wfc_runtime.line_map import map_path
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.temporal.encryption import NO_KEYS, Keyring
from wfc_runtime.trust import UntrustedError

log = logging.getLogger("wfc.worker")


class Modules:
    """Modules by name (the current version) and by digest."""

    def __init__(self, registry: Registry, kept: Path, more: Sequence[Registry] = ()) -> None:
        self.registry = registry
        self._kept = kept
        self._more = more
        self._known: dict[str, str] = {}
        self._missed: set[str] = set()
        self._lock = Lock()

    def find(self, name: str) -> Module:
        """The current version of a workflow."""
        return self.keep(self.registry.find(name))

    def keep(self, module: Module) -> Module:
        """Store a copy of this version for later."""
        path = self._kept / f"{module.digest}.py"
        with self._lock:
            # Sources that differ only in comments share a digest; the text and line map of the latest one are kept.
            if self._known.get(module.digest) != module.text and _read(path) != module.text:
                self._kept.mkdir(parents=True, exist_ok=True)
                # The module last: a process that finds it finds its line map too.
                if module.line_map is not None:
                    _write(map_path(path), module.line_map)
                _write(path, module.text)
            self._known[module.digest] = module.text
            return module

    def keep_all(self) -> list[Module]:
        return [self.keep(module) for module in self.registry.modules()]

    def of_digest(self, digest: str, workflow: str) -> Module:
        """The version that a run is pinned to."""
        known = self.registry.of_digest(digest) or self._read_kept(digest) or self._look(digest)
        if known is None:
            if digest not in self._missed:
                log.warning(
                    "runs of `%s` are waiting: this worker does not have version %s", workflow, digest[:12]
                )
                for error in self._untrusted():
                    log.warning("%s", error)
                self._missed.add(digest)
            raise DefinitionError(
                "definition_missing",
                f"the worker has no version {digest[:12]} of `{workflow}`",
                f"Put the module into {self._kept / digest}.py, or restart the worker with the module in its "
                "generated folder or in a folder named with --modules.",
            )
        if digest in self._missed:
            log.warning("version %s of `%s` has been found: its runs continue", digest[:12], workflow)
            self._missed.discard(digest)
        return self.keep(known)

    def _read_kept(self, digest: str) -> Module | None:
        path = self._kept / f"{digest}.py"
        text = _read(path)
        if text is None:
            return None
        try:
            return self.registry.pin(digest, text, _read(map_path(path)))
        except WfcError as error:
            log.warning("%s", error)
            return None

    def _look(self, digest: str) -> Module | None:
        for registry in (self.registry, *self._more):
            for module in registry.modules():
                if module.digest == digest:
                    return module
        return None

    def _untrusted(self) -> list[DefinitionError]:
        """Modules in the folders that must not be executed: the missing version may be one of them."""
        found = [error for registry in (self.registry, *self._more) for error in registry.problems()]
        return [error for error in found if isinstance(error, UntrustedError)]


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _write(path: Path, text: str) -> None:
    """Replace a file atomically: readers never see a partial one."""
    # The process id keeps two workers that share the folder from writing the same temporary file.
    made = path.with_suffix(f".{os.getpid()}.new")
    made.write_bytes(text.encode())
    made.replace(path)


@dataclass(frozen=True)
class WorkerContext:
    """The parts of this process that the runs of a task queue need."""

    modules: Modules
    keyring: Keyring


# A workflow class gets no arguments from its worker, so it finds them here by its task queue.
_WORKERS: dict[str, WorkerContext] = {}


def register_worker(task_queue: str, modules: Modules, keyring: Keyring = NO_KEYS) -> None:
    """Set the modules and the keys with which this process runs the workflows of a task queue."""
    _WORKERS[task_queue] = WorkerContext(modules, keyring)


def worker_context(task_queue: str) -> WorkerContext:
    return _WORKERS[task_queue]
