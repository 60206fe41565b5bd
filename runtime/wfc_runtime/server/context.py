"""The options of `wfc serve`, and the service and workflows that its tools use."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, RLock, Thread
from typing import TYPE_CHECKING

from wfc_runtime.errors import WfcError
from wfc_runtime.service.temporal.settings import TemporalSettings
from wfc_runtime.service.ticker import Ticker

if TYPE_CHECKING:
    from wfc_runtime.machine.values import Limits
    from wfc_runtime.registry import Registry
    from wfc_runtime.service import WholeRuns
    from wfc_runtime.service.temporal.worker import WorkerThread
    from wfc_runtime.store import Store
    from wfc_runtime.trust import Trust


# Options.

TOOLSETS = ("core", "author", "debug", "journal")


@dataclass(frozen=True)
class Allowed:
    """The grant of actions that the server may execute itself: see `wfc_runtime.execute.permissions`."""

    root: Path
    commands: tuple[str, ...] | None
    """None: any command."""
    more_roots: tuple[Path, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    http: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    """Folders of workflow sources, which file actions never write to."""
    env: tuple[str, ...] = ()
    parallel: int = 8
    reply_seconds: float = 50


@dataclass(frozen=True)
class Options:
    state: Path
    """The store's file. Keys and tokens are next to it."""
    generated: Path
    """The folder of the compiled workflows."""
    engine: str = "sqlite"
    temporal: TemporalSettings = field(default_factory=TemporalSettings)
    with_worker: bool = False
    """Also execute runs of the task queue in this process."""
    toolsets: tuple[str, ...] = ("core",)
    typed_tools: bool = False
    """Offer each workflow as a tool of its own, with its inputs as arguments."""
    elicit: bool = False
    """Ask the user directly if a prompt step is pending and the client can show a form."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Values of `wfc_runtime.machine.values.Limits` that differ from the defaults."""
    trust: Trust | None = None
    """Which modules may be executed; None: every module whose digest matches."""
    make_registry: Callable[[Path], Registry] | None = None
    """Creates the registry for a folder, if it has to contain more than that folder."""
    allowed: Allowed | None = None
    """None: the server executes nothing itself, and the agent is asked."""
    root: Path = Path(".")
    """The project's folder, where Claude Code keeps the project's agents."""
    known_tools: tuple[str, ...] | None = None
    """The tools that the project's agents have; None if the settings don't say."""
    journal_requires_agent: bool = False
    """Whether the journal only takes entries of named agents."""
    sources: tuple[Path, ...] | None = None
    """For a worker behind a front: the files and folders that its lists depend on; they are reported to the front."""


# Sessions.

_MOST_RUNS = 1_000


class Sessions:
    """Which session asked for, or answered, each run last. It only informs: other processes have sessions of their own,
    and a new process knows none."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._lock = Lock()

    def note(self, run: str, session: str) -> None:
        with self._lock:
            self._last[run] = (session, time.time())
            self._last.move_to_end(run)
            if len(self._last) > _MOST_RUNS:
                self._last.popitem(last=False)

    def last(self, run: str) -> tuple[str, float] | None:
        with self._lock:
            return self._last.get(run)


# The service and the workflows are opened by the first call that needs them: loading them takes longer than everything
# else between the start of the process and its first reply, so nothing is imported earlier.


class ServerContext:
    """One store and one folder of modules, shared by every call of the process."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sessions = Sessions()
        # Re-entrant, because opening the service uses the registry under the same lock.
        self._lock = RLock()
        self._registry: Registry | None = None
        self._service: WholeRuns | None = None
        self._at_work: Callable[[], list[str]] | None = None
        self._worker: WorkerThread | None = None
        self._ticker: Ticker | None = None

    @property
    def registry(self) -> Registry:
        """The compiled workflows, as they are in the folder now."""
        with self._lock:
            if self._registry is None:
                from wfc_runtime.registry import Registry

                options = self.options
                make = options.make_registry or (lambda folder: Registry(folder, options.trust))
                self._registry = make(options.generated)
            return self._registry

    @property
    def service(self) -> WholeRuns:
        """The open service. Raises `StoreError` if the store can't be opened; the next call tries again."""
        with self._lock:
            # Opened under the lock: two calls at the same time must not open two services.
            if self._service is None and self.options.engine != "sqlite":
                self._service = self._open_elsewhere()
            if self._service is None:
                from wfc_runtime.machine.values import Limits
                from wfc_runtime.service.sqlite import SqliteService
                from wfc_runtime.store import Store

                limits = Limits.of(self.options.limits)
                store = Store(self.options.state)
                if self.options.allowed is None:
                    self._service = service = SqliteService(store, self.registry, limits)
                    # Without a grant there are no worker threads, so actions that only compute are executed
                    # in the call itself.
                    service.computes = True
                else:
                    self._service = self._serving(store, limits, self.options.allowed)
            return self._service

    def _serving(self, store: Store, limits: Limits, allowed: Allowed) -> WholeRuns:
        from wfc_runtime.execute import Grant, protected_paths
        from wfc_runtime.service.sqlite.serving import ServingService

        grant = Grant(
            allowed.root,
            allowed.commands,
            allowed.more_roots,
            allowed.read,
            allowed.write,
            http=allowed.http,
            blocks=allowed.blocks,
            protected=protected_paths(
                allowed.root,
                allowed.more_roots,
                sources=allowed.sources,
                # File actions must not be able to change what the server executes or trusts.
                modules=(self.options.generated,),
                stores=(self.options.state,),
            ),
            env=allowed.env,
            parallel=allowed.parallel,
        )
        service = ServingService(store, self.registry, grant, limits, reply_seconds=allowed.reply_seconds)
        self._at_work = service.workers.at_work
        return service

    def at_work(self) -> list[str]:
        """The actions that the server is executing, for progress notifications."""
        return self._at_work() if self._at_work else []

    def _open_elsewhere(self) -> WholeRuns:
        """Open an engine whose runs are on another server, and start a worker here if one is wanted."""
        from wfc_runtime.engines import Engine

        options = self.options
        engine = Engine(
            options.state,
            options.generated,
            options.engine,
            options.limits,
            options.temporal,
            trust=options.trust,
        )
        service = engine.open(self.registry)
        try:
            # Started once, even if opening is tried again after an error.
            if options.with_worker and self._worker is None:
                self._worker = engine.start_worker()
        except BaseException:
            service.close()
            raise
        return service

    def start_working(self) -> None:
        """Start the ticker and the worker before the first call: timers may be due, and other clients' runs waiting."""
        if self.options.engine == "sqlite":
            self._ticker = Ticker(self._tick)
            self._ticker.start()
        if self.options.with_worker:
            Thread(target=self._try_to_work, name="wfc-start", daemon=True).start()

    def _tick(self) -> float | None:
        # The first run creates the store. Starting a server alone does not.
        if self._service is None and not self.options.state.exists():
            return None
        return self.service.tick()

    def _try_to_work(self) -> None:
        try:
            _ = self.service
        except WfcError as error:
            # The first call reports the error too, and tries again.
            print(f"wfc serve: {error}", file=sys.stderr, flush=True)

    def close(self) -> None:
        # Before the service: a tick must not begin while the store is being closed.
        if self._ticker is not None:
            self._ticker.close()
            self._ticker = None
        with self._lock:
            if self._worker is not None:
                self._worker.close()
                self._worker = None
            if self._service is not None:
                self._service.close()
                self._service = None
