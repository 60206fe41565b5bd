"""A step on Temporal beside the same step in a workflow that was written by hand for it, on the same server."""

from __future__ import annotations

import os
import secrets
import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from tests.bench.handwritten import Chain, Result
from tests.bench.measure import Row
from tests.bench.rows.server import _RESULT, _chain, _write_modules
from tests.temporal_server import start_server
from wfc_runtime.registry import Registry
from wfc_runtime.service.temporal.connection import LoopThread
from wfc_runtime.service.temporal.engine import TemporalService
from wfc_runtime.service.temporal.modules import Modules
from wfc_runtime.service.temporal.settings import TemporalSettings
from wfc_runtime.service.temporal.worker import WorkerThread

_STEPS = 200
_WARM = 40
_SIDE_BY_SIDE = 8


def rows() -> Iterator[Row]:
    address = start_server(os.getpid())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_modules(folder / "generated", [_chain(_STEPS)])
        settings = TemporalSettings(address=address, task_queue=f"bench-{secrets.token_hex(4)}")
        modules = Modules(Registry(folder / "generated"), folder / "kept")
        worker, service = WorkerThread(settings, modules), TemporalService(settings, modules)
        byhand = ByHand(settings)
        try:
            yield _beside_by_hand(service, byhand)
            yield _steps_per_second(service, byhand)
        finally:
            byhand.close()
            service.close()
            worker.close()


class ByHand:
    """The other workflow, with a client and a worker of its own."""

    def __init__(self, settings: TemporalSettings) -> None:
        self._loop = LoopThread()
        self._queue = f"{settings.task_queue}-by-hand"
        self._client: Client = self._loop.run(self._connect(settings))
        self._worker = self._loop.run(self._work())

    async def _connect(self, settings: TemporalSettings) -> Client:
        return await Client.connect(settings.address, namespace=settings.namespace)

    async def _work(self) -> Worker:
        worker = Worker(self._client, task_queue=self._queue, workflows=[Chain])
        await worker.__aenter__()
        return worker

    def start(self) -> WorkflowHandle[Any, Any]:
        name = secrets.token_hex(8)
        start = self._client.start_workflow(Chain.run, _STEPS, id=name, task_queue=self._queue)
        handle: WorkflowHandle[Any, Any] = self._loop.run(start)
        self._loop.run(handle.query(Chain.place))
        return handle

    def step(self, handle: WorkflowHandle[Any, Any], number: int) -> None:
        self._loop.run(handle.execute_update(Chain.submit, Result(f"step-{number}", _RESULT)))

    def close(self) -> None:
        self._loop.run(self._worker.__aexit__(None, None, None))
        self._loop.close()


def _beside_by_hand(service: TemporalService, byhand: ByHand) -> Row:
    """One step of each in turn, so that whatever else the machine does meets both."""
    run, handle = service.start("chain")["workflow_id"], byhand.start()
    pairs = []
    for number in range(_STEPS - 1):
        began = perf_counter()
        service.submit(run, f"step-{number}", _RESULT)
        between = perf_counter()
        byhand.step(handle, number)
        pairs.append((between - began, perf_counter() - between))
    ours, theirs = (statistics.median(times) for times in zip(*pairs[_WARM:], strict=True))
    detail = f"{ours * 1000:.1f} ms and {theirs * 1000:.1f} ms"
    return Row("a step on Temporal, beside a hand-written workflow", ours / theirs, 1.25, detail=detail)


def _steps_per_second(service: TemporalService, byhand: ByHand) -> Row:
    """Several runs side by side."""

    def ours(run: Any) -> None:
        for number in range(_WARM):
            service.submit(run, f"step-{number}", _RESULT)

    def theirs(handle: Any) -> None:
        for number in range(_WARM):
            byhand.step(handle, number)

    rates = []
    started = (
        (ours, [service.start("chain")["workflow_id"] for _ in range(_SIDE_BY_SIDE)]),
        (theirs, [byhand.start() for _ in range(_SIDE_BY_SIDE)]),
    )
    for work, runs in started:
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            began = perf_counter()
            list(pool.map(work, runs))
            rates.append(_SIDE_BY_SIDE * _WARM / (perf_counter() - began))
    detail = f"{rates[0]:.0f} and {rates[1]:.0f} steps a second, {_SIDE_BY_SIDE} runs side by side"
    return Row("steps a second on Temporal, by hand over ours", rates[1] / rates[0], 1.25, detail=detail)
