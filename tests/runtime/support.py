"""A project in its own folder: modules compiled from small texts, a store, a clock that tests set."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import check, load, wait_until
from wfc.compiler import compile_file
from wfc.findings import Severity
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store
from wfc_runtime.store.writer import Hook, no_hook

if TYPE_CHECKING:
    from wfc_runtime.service.temporal.worker import WorkerThread

NOON = 1_700_000_000.0
OK = {"stdout": "fine", "stderr": "", "exit_code": 0}
Reply = dict[str, Any]


@cache
def modules_of(*texts: str) -> dict[str, str]:
    """What `wfc compile` would write: file names and texts."""
    errors = [found.message for found in check(*texts) if found.severity is Severity.ERROR]
    assert not errors, errors
    modules = [compile_file(file, f"workflows/{file.name}.yaml") for file in load(*texts).files]
    return {name: text for module in modules for name, text in module.files.items()}


def compile_to(folder: Path, *texts: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in modules_of(*texts).items():
        # As the command does it: never a file that is half there.
        made = folder / f".{name}.new"
        made.write_bytes(text.encode())
        made.replace(folder / name)


class Clock:
    def __init__(self, passed: Callable[[], None] = lambda: None) -> None:
        self.now = NOON
        self._passed = passed

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds
        self._passed()


class Box:
    """One project. `service` is its server; `another()` a second one on the same file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.generated = root / "generated"
        self.state = root / ".wfc" / "state.db"
        self.clock = Clock(self._tick)
        self._open: list[SqliteService] = []
        self._service: SqliteService | None = None

    def _tick(self) -> None:
        """Time passes: one of the servers notices what is due."""
        if self._open:
            self._open[-1].tick()

    def compile(self, *texts: str) -> Box:
        compile_to(self.generated, *texts)
        return self

    def another(self, limits: Limits | None = None, hook: Hook = no_hook) -> SqliteService:
        store = Store(self.state, hook=hook)
        service = SqliteService(store, Registry(self.generated), limits, self.clock)
        self._open.append(service)
        return service

    @property
    def service(self) -> SqliteService:
        if self._service is None:
            self._service = self.another()
        return self._service

    def limited(self, **limits: Any) -> Box:
        self._service = self.another(Limits(**limits))
        return self

    def restart(self) -> SqliteService:
        """Forget everything that is only in memory."""
        self.close()
        return self.service

    def close(self) -> None:
        for service in self._open:
            service.close()
        self._open, self._service = [], None


class TemporalBox(Box):
    """The same on a Temporal server: a task queue, a worker and services of its own."""

    def __init__(self, root: Path, address: str, **more: Any) -> None:
        """`more` are further settings of the engine."""
        from wfc_runtime.service.temporal.settings import TemporalSettings

        super().__init__(root)
        self.clock: Any = Clock(self._go_off)
        queue = f"box-{secrets.token_hex(6)}"
        self.settings = TemporalSettings(address=address, task_queue=queue, **more)
        self._worker: WorkerThread | None = None
        self._started: list[str] = []

    def modules(self) -> Any:
        from wfc_runtime.service.temporal.modules import Modules

        return Modules(Registry(self.generated), self.state.parent / "modules")

    def another(self, limits: Limits | None = None, hook: Hook = no_hook, **more: Any) -> Any:
        from wfc_runtime.service.temporal.engine import TemporalService
        from wfc_runtime.service.temporal.worker import WorkerThread

        is_new = self._worker is None
        if self._worker is None:
            self._worker = WorkerThread(self.settings, self.modules())
        service = TemporalService(self.settings, self.modules(), limits, self.clock, self._new_id, **more)
        self._open.append(service)
        if is_new:
            # On a busy machine the first poll may come later than a service waits for it.
            wait_until(lambda: service._run(service._calls.rpc.diagnosis.no_worker()) is None, "a worker")
        return service

    def _new_id(self) -> str:
        from wfc_runtime.service.ids import new_id

        self._started.append(new_id())
        return self._started[-1]

    def _go_off(self) -> None:
        """Every timer that is due goes off, as it does when time passes by itself."""
        for run in self._started:
            self.service.tick(run)

    def close(self) -> None:
        super().close()
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def steps(*lines: str, name: str = "w", head: str = "") -> str:
    """A workflow of these steps, each one line of flow style YAML."""
    body = "\n".join(f"  - {line}" for line in lines)
    return f"name: {name}\nversion: 1.0.0\n{head}\nsteps:\n{body}\n"


TWO = steps(
    "{id: build, type: shell, command: make, output_to: built}",
    "{id: test, type: shell, needs_state: [built], command: 'test {{ state.built.exit_code }}',"
    " output_to: t}",
    "{id: done, type: return, needs_state: [t], value: '{{ state.t.exit_code }}'}",
)


def step_ids(reply: Reply) -> list[str]:
    """The visits that a reply asks for."""
    actions = reply.get("actions") or [reply["action"]]
    return [action["step_id"] for action in actions]


def children(reply: Reply) -> list[str]:
    return [child["workflow_id"] for child in reply["action"]["parameters"]["children"]]
