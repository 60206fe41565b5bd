"""Workers: they execute the runs of a task queue with the modules that they have."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event, Thread
from typing import Any, Protocol

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from wfc_runtime.errors import StepError, WfcError
from wfc_runtime.service.temporal.calls import Calls
from wfc_runtime.service.temporal.children import FIND, REOPEN
from wfc_runtime.service.temporal.codec import keyring_of
from wfc_runtime.service.temporal.connection import connect
from wfc_runtime.service.temporal.encryption import IN_CLEAR, SET_A_KEY, UnreadableError
from wfc_runtime.service.temporal.messages import Reopening
from wfc_runtime.service.temporal.modules import Modules, log, register_worker
from wfc_runtime.service.temporal.retry import Retrier
from wfc_runtime.service.temporal.rpc import Rpc
from wfc_runtime.service.temporal.settings import TemporalSettings
from wfc_runtime.service.temporal.workflow import RunWorkflow

_STICKY = timedelta(seconds=10)
"""How long the runs of a dead worker wait before another worker takes them. With a shorter time, a busy worker would
lose its runs to one that has to replay them first."""


def build_worker(client: Client, settings: TemporalSettings, modules: Modules) -> Worker:
    @activity.defn(name=FIND)
    def find(workflow: str) -> dict[str, Any]:
        """The current version of a workflow that another one calls."""
        try:
            return {"digest": modules.find(workflow).digest}
        except WfcError as error:
            record = StepError(error.code, error.message, error.hint).record("")
            return {"error": record}

    retrier = Retrier(Calls(Rpc(client, settings), None))

    @activity.defn(name=REOPEN)
    async def reopen(asked: Reopening) -> dict[str, Any]:
        """Continue a child that has ended, for a parent that was retried."""
        return await retrier.reopen(asked)

    # The library logs a traceback for each failed task; our own line is enough.
    logging.getLogger("temporalio").setLevel(logging.ERROR)
    _one_line_for_unreadable_runs()
    register_worker(settings.task_queue, modules, keyring_of(client))
    return Worker(
        client,
        task_queue=settings.task_queue,
        workflows=[RunWorkflow],
        activities=[find, reopen],
        activity_executor=ThreadPoolExecutor(4, thread_name_prefix="wfc-find"),
        workflow_runner=UnsandboxedWorkflowRunner(),
        sticky_queue_schedule_to_start_timeout=_STICKY,
        # Turns off the deadlock detector: on a busy machine, two seconds without progress are not a deadlock.
        debug_mode=True,
    )


class _Unreadable(logging.Filter):
    """Replaces the library's traceback for a run that can't be decrypted with one line, logged once per cause."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, UnreadableError):
            return True
        if error.message not in self._said:
            self._said.add(error.message)
            log.warning("a run is waiting: %s", error)
        return False


_UNREADABLE = _Unreadable()


def _one_line_for_unreadable_runs() -> None:
    for name in ("temporalio.worker._workflow", "temporalio.worker._workflow_instance"):
        logging.getLogger(name).addFilter(_UNREADABLE)


class Companion(Protocol):
    """Works beside the worker, and needs it until it is closed."""

    def start(self) -> None: ...

    def close(self) -> None: ...


async def serve(
    settings: TemporalSettings,
    modules: Modules,
    ready: Callable[[list[str]], None],
    stop_on: Sequence[signal.Signals],
    companion: Companion | None = None,
) -> signal.Signals:
    """Serve the task queue until a signal arrives, and return it."""
    stop = asyncio.Event()
    heard: list[signal.Signals] = []

    def hear(one: signal.Signals) -> None:
        heard.append(one)
        stop.set()

    for one in stop_on:
        asyncio.get_running_loop().add_signal_handler(one, hear, one)
    await _work(settings, modules, stop, ready, companion)
    return heard[0]


async def _work(
    settings: TemporalSettings,
    modules: Modules,
    stop: asyncio.Event,
    ready: Callable[[list[str]], None],
    companion: Companion | None = None,
) -> None:
    client = await connect(settings)
    kept = modules.keep_all()
    if not keyring_of(client):
        log.warning("%s. %s", IN_CLEAR, SET_A_KEY)
    async with build_worker(client, settings, modules):
        ready([module.workflow.name for module in kept])
        if companion is not None:
            companion.start()
        await stop.wait()
        if companion is not None:
            # Released actions reach the runs through this worker.
            await asyncio.to_thread(companion.close)


class WorkerThread:
    """A worker in a thread of another process, such as a server."""

    def __init__(self, settings: TemporalSettings, modules: Modules) -> None:
        """Returns when the worker is ready; raises the reason if it can't start."""
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._started = Event()
        self._failure: BaseException | None = None
        work = _work(settings, modules, self._stop, lambda _: self._started.set())
        self._thread = Thread(target=self._work, args=[work], name="wfc-worker", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._loop.run_until_complete(work)
        except BaseException as error:
            self._failure = error
            log.error("the worker has stopped: %s", error)
        finally:
            self._started.set()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()
