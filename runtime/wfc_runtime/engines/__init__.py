"""Selects the engine that stores the runs. An engine's modules are imported only when it is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from wfc_runtime.errors import StoreError
from wfc_runtime.service.temporal.settings import TemporalSettings

if TYPE_CHECKING:
    from wfc_runtime.machine.values import Limits
    from wfc_runtime.registry import Registry
    from wfc_runtime.service.interface import WholeRuns
    from wfc_runtime.service.temporal.modules import Modules
    from wfc_runtime.service.temporal.worker import WorkerThread
    from wfc_runtime.trust import Trust

SQLITE, TEMPORAL = "sqlite", "temporal"


@dataclass(frozen=True)
class Engine:
    """The settings of an engine, and how to open it."""

    state: Path
    """The file of the SQLite engine; other files of a project's runs are next to it."""
    generated: Path
    name: str = SQLITE
    limits: Mapping[str, int] = field(default_factory=dict)
    temporal: TemporalSettings = field(default_factory=TemporalSettings)
    more_modules: Sequence[Path] = ()
    """Further folders in which a worker looks for versions that runs are pinned to."""
    trust: Trust | None = None
    """Which modules may be executed; None: every module whose digest matches."""

    @property
    def run_limits(self) -> Limits:
        from wfc_runtime.machine.values import Limits

        return Limits.of(self.limits)

    def open(self, registry: Registry | None = None) -> WholeRuns:
        """Open the engine. Raises `StoreError` if that fails."""
        if self.name == TEMPORAL:
            require_temporal()
            from wfc_runtime.service.temporal.engine import TemporalService

            return TemporalService(self.temporal, self.modules(registry), self.run_limits)
        from wfc_runtime.registry import Registry
        from wfc_runtime.service.sqlite import SqliteService
        from wfc_runtime.store import Store

        return SqliteService(
            Store(self.state), registry or Registry(self.generated, self.trust), self.run_limits
        )

    def modules(self, registry: Registry | None = None) -> Modules:
        """The compiled workflows, and the folder next to the store that keeps every version."""
        from wfc_runtime.registry import Registry
        from wfc_runtime.service.temporal.modules import Modules

        kept = self.state.parent / "modules"
        more = [Registry(folder, self.trust) for folder in self.more_modules]
        return Modules(registry or Registry(self.generated, self.trust), kept, more)

    def start_worker(self) -> WorkerThread:
        """Start a worker in this process; it lives as long as the process."""
        require_temporal()
        from wfc_runtime.service.temporal.worker import WorkerThread

        return WorkerThread(self.temporal, self.modules())


def require_temporal() -> None:
    if find_spec("temporalio") is None:
        raise StoreError(
            "temporal_missing",
            "the engine `temporal` needs the package temporalio, which is not installed",
            "Run: pip install 'wfc-compiler[temporal]'",
        )
