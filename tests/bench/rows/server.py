"""The server beside the least that the SDK can be, and one durable step beside the least that SQLite can do."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, sleep

from tests.bench.measure import Row
from tests.bench.peers.floor import Bare, bytes_of_a_step
from tests.bench.servers import BARE_COMMAND, Server, our_command, start_seconds, started
from tests.bench.workloads import workflow
from tests.property.survival import CONFIG
from tests.torture.load import bytes_per_step
from wfc.compiler import compile_project
from wfc.project import Project, load_file
from wfc_runtime.service.sqlite import SqliteService

_STARTS = 7
_STEPS = 200
_RESULT = {"stdout": "x" * 250, "stderr": "", "exit_code": 0}
"""About 300 bytes as JSON."""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_modules(folder / "generated", [workflow(f"flow-{number}", 20) for number in range(20)])
        yield _cold_start(folder)
        yield _cached_start(folder)
        yield _memory(folder)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_modules(folder / "generated", [_chain(_STEPS)])
        yield _step_over_stdio(folder)
        yield _through_the_front(folder)
        yield _durable_step(folder)
    with tempfile.TemporaryDirectory() as name:
        stored = bytes_per_step(Path(name), _STEPS)
        yield Row("disk for a step with a result of 300 bytes", stored, 1000, unit="B")


def write_modules(folder: Path, texts: list[str]) -> None:
    project = Project(CONFIG)
    for number, text in enumerate(texts):
        load_file(f"flow-{number}.yaml", text.encode(), CONFIG, project)
    folder.mkdir()
    for module in compile_project(project, {file: file.source.path for file in project.files}).modules:
        for name, text in module.files.items():
            (folder / name).write_text(text, encoding="utf-8")


def _chain(steps: int) -> str:
    """Commands one after the other, each answer kept in the same field."""
    head = 'name: chain\nversion: "1.0.0"\nsteps:\n'
    step = "  - {{id: step-{0}, type: shell, command: make step-{0}, output_to: last}}\n"
    return head + "".join(step.format(number) for number in range(steps))


def _cold_start(folder: Path) -> Row:
    ours, bare = our_command(folder / "cold.db"), BARE_COMMAND
    pairs = [(start_seconds(ours, folder)[0], start_seconds(bare, folder)[0]) for _ in range(_STARTS + 1)][1:]
    mine, floor = (statistics.median(times) for times in zip(*pairs, strict=True))
    detail = f"{mine:.2f} s and {floor:.2f} s of processor time"
    return Row("cold start to the first answer, to a bare SDK server", mine / floor, 1.15, detail=detail)


def _cached_start(folder: Path) -> Row:
    """The front answers from its cache while its worker starts."""
    ours = our_command(folder / "cached.db")
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name)
        with started(ours, folder, cache) as server:
            server.hello()
            while not list(cache.glob("wfc/serve/*.json")):
                sleep(0.05)
        pairs = [
            (start_seconds(ours, folder, cache)[1], start_seconds(BARE_COMMAND, folder)[1])
            for _ in range(_STARTS + 1)
        ][1:]
    mine, floor = (statistics.median(times) for times in zip(*pairs, strict=True))
    detail = f"{mine * 1000:.0f} ms and {floor * 1000:.0f} ms"
    return Row("first answer from the cache, to a bare SDK server", mine / floor, 0.1, detail=detail)


def _through_the_front(folder: Path) -> Row:
    with (
        started(our_command(folder / "front.db", "serve-worker"), folder) as worker,
        started(our_command(folder / "front.db"), folder) as front,
    ):
        for one in (worker, front):
            one.hello()
            one.ready()
        alone, through = _alternating(lambda _: _list(worker), lambda _: _list(front))
    detail = f"{through * 1000:.2f} ms and {alone * 1000:.2f} ms"
    more = (through - alone) * 1000
    return Row("a call through the front, beyond one to its worker", more, 0.5, "ms", detail, digits=2)


def _list(server: Server) -> None:
    server.call("list_runs")


def _memory(folder: Path) -> Row:
    with started(BARE_COMMAND, folder) as bare:
        bare.hello()
        bare.ready()
        bare.call("echo", workflow_id="x", step_id="y", result=_RESULT)
        floor = bare.resident
    with started(our_command(folder / "memory.db"), folder) as server:
        server.hello()
        server.ready()
        assert len(server.call("list_workflows")["workflows"]) == 20
        mine = server.resident
    detail = f"{mine / 2**20:.0f} MB and {floor / 2**20:.0f} MB"
    return Row("memory with 20 workflows loaded, to a bare SDK server", mine / floor, 1.3, detail=detail)


def _step_over_stdio(folder: Path) -> Row:
    with (
        started(BARE_COMMAND, folder) as bare,
        started(our_command(folder / "stdio.db"), folder) as server,
    ):
        for one in (bare, server):
            one.hello()
            one.ready()
        run = str(server.call("start_workflow", workflow="chain")["workflow_id"])
        floor, mine = _alternating(
            lambda number: _echo(bare, run, number), lambda number: _submit(server, run, number)
        )
    detail = f"{mine * 1000:.1f} ms and {floor * 1000:.1f} ms"
    return Row("one durable step over MCP stdio, to a bare echo tool", mine / floor, 1.5, detail=detail)


def _echo(server: Server, run: str, number: int) -> None:
    server.call("echo", workflow_id=run, step_id=f"step-{number}", result=_RESULT)


def _submit(server: Server, run: str, number: int) -> None:
    server.call("submit_result", workflow_id=run, step_id=f"step-{number}", result=_RESULT)


def _alternating(one: Callable[[int], None], other: Callable[[int], None]) -> tuple[float, float]:
    """The median seconds of each, measured turn by turn: whatever else the machine does hits both."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(_STEPS):
        for work, found in zip((one, other), times, strict=True):
            start = perf_counter()
            work(number)
            found.append(perf_counter() - start)
    # The first calls load what the later ones use.
    return statistics.median(times[0][10:]), statistics.median(times[1][10:])


def _durable_step(folder: Path) -> Row:
    service = SqliteService.open(folder / "service.db", folder / "generated")
    run, other = (str(service.start("chain")["workflow_id"]) for _ in range(2))
    for number in range(10):
        service.submit(other, f"step-{number}", _RESULT)
    bare = Bare(folder / "bare.db", *bytes_of_a_step(folder / "service.db"))
    key = bare.start()
    floor, mine = _alternating(
        lambda number: bare.write(key, number), lambda number: _step(service, run, number)
    )
    service.close()
    bare.connection.close()
    detail = f"{mine * 1000:.2f} ms and {floor * 1000:.2f} ms"
    return Row("one durable step in the service, to a bare transaction", mine / floor, 2.5, detail=detail)


def _step(service: SqliteService, run: str, number: int) -> None:
    service.submit(run, f"step-{number}", _RESULT)
