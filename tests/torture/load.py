"""Many runs, many children, much state, many processes: what a call costs then, as a ratio to what it costs alone.

The cost is whatever a `Cost` says it is: tests count, and `make bench` and `make torture` time.
"""

from __future__ import annotations

import gc
import sqlite3
import statistics
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from time import process_time
from typing import Any

from tests.runtime.support import compile_to, steps
from tests.support import PATIENCE
from tests.torture.servers import Nursery, Refused, Server
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store
from wfc_runtime.store.records import checksum

RESULT = {"stdout": "x" * 250, "stderr": "", "exit_code": 0}
"""About 300 bytes as JSON."""

LOOP = """
name: loop
version: 1.0.0
inputs: {ballast: {type: number, default: 0}}
initial_state: {n: 0}
steps:
  - {id: load, type: set_state, updates: {ballast: "{{ ('x' * 99) * inputs.ballast }}"}}
  - id: turns
    type: while
    needs_state: [n]
    if: "{{ state.n < 100000 }}"
    max_iterations: 100001
    steps:
      - {id: work, type: shell, command: "make", output_to: out}
      - {id: count, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
"""
FAN = """
name: fan
version: 1.0.0
inputs: {many: {type: number, required: true}}
steps:
  - {id: each, type: foreach, items: "{{ range(inputs.many) }}", task: t, output_to: o}
tasks:
  t:
    inputs: {n: {type: number, required: true}}
    steps:
      - {id: s, type: shell, command: "echo {{ inputs.n }}", output_to: out}
      - {id: r, type: return, value: "{{ inputs.n }}"}
"""
TWO_STEPS = steps(
    "{id: a, type: shell, command: make, output_to: a}", "{id: b, type: shell, command: make}", name="two"
)


def project(folder: Path) -> Path:
    compile_to(folder / "generated", LOOP, FAN, TWO_STEPS)
    return folder / "generated"


def opened(folder: Path) -> SqliteService:
    return SqliteService(Store(folder / "state.db"), Registry(folder / "generated"))


Cost = Callable[[Callable[[], Any], int], float]
"""What some work costs in the median of a number of times."""


def processor_seconds(work: Callable[[], Any], times: int) -> float:
    """What one call takes of the processor, in the median: waiting for a disk that others use too is not counted."""
    taken = []
    for _ in range(times):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return statistics.median(taken)


def turn(service: SqliteService, run: str) -> Callable[[], Any]:
    """One step of a loop, each time another visit."""

    def work() -> None:
        step_id = service.next_step(run)["action"]["step_id"]
        service.submit(run, step_id, RESULT)

    return work


def fill(path: Path, run: str, copies: int) -> None:
    """Copies of a run with all that belongs to it, made by the database itself."""
    with sqlite3.connect(path, isolation_level=None) as connection:
        [key] = connection.execute("SELECT key FROM runs WHERE id = ?", (run,)).fetchone()
        connection.create_function("checksum_of", 1, checksum)
        connection.execute("BEGIN")
        for table, owner in (("runs", "key"), ("history", "run"), ("fields", "run")):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            picked = [_copied(table, column, owner) for column in columns]
            connection.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                f"INSERT INTO {table} ({', '.join(columns)}) "
                f"SELECT {', '.join(picked)} FROM n, {table} WHERE {owner} = ?",
                (copies, key),
            )
        connection.execute("COMMIT")
    connection.close()


def _copied(table: str, column: str, owner: str) -> str:
    if column == owner or column == "root":
        return f"1000000 + i AS {column}"
    return _OTHERWISE.get((table, column), f"{table}.{column}")


_OTHERWISE = {("runs", "id"): "'copy' || i", ("runs", "checksum"): "checksum_of(snapshot)"}


def many_runs(folder: Path, copies: int, cost: Cost, times: int = 40) -> dict[str, float]:
    """A store with thousands of runs beside one with a hundred."""
    found: dict[str, list[float]] = {}
    for number, size in enumerate((100, copies)):
        place = folder / f"runs-{number}"
        place.mkdir()
        project(place)
        service = opened(place)
        run = service.start("two")["workflow_id"]
        service.submit(run, "a", RESULT)
        fill(place / "state.db", run, size)
        calls: dict[str, Callable[[], Any]] = {
            "list": lambda s=service: s.runs(limit=10),
            "list all": lambda s=service: s.runs("all", limit=10),
            "status": lambda s=service, r=run: s.status(r),
            "history": lambda s=service, r=run: s.history(r),
            "start": lambda s=service: s.start("two"),
            "open": lambda p=place: opened(p).close(),
        }
        for name, call in calls.items():
            found.setdefault(name, []).append(cost(call, times))
        assert len(service.runs("all", limit=10)["runs"]) == 10
        service.close()
    return {name: many / few for name, (few, many) in found.items()}


def large_state(folder: Path, cost: Cost, times: int = 40) -> float:
    """A step of a run whose state is nearly a mebibyte, beside one with next to none."""
    project(folder)
    service = opened(folder)
    costs = []
    for ballast in (0, 10_000):
        run = service.start("loop", {"ballast": ballast})["workflow_id"]
        assert (service.state(run)["fields"]["ballast"] > 900_000) == bool(ballast)
        work = turn(service, run)
        work()
        costs.append(cost(work, times))
    service.close()
    return costs[1] / costs[0]


def many_children(folder: Path, many: int, cost: Cost) -> float:
    """The step that ends a child among a hundred, beside a step of a run that is nobody's child."""
    project(folder)
    service = opened(folder)
    alone = cost(turn(service, service.start("loop")["workflow_id"]), 40)
    reply = service.start("fan", {"many": many})
    run = reply["workflow_id"]
    waiting = [child["workflow_id"] for child in reply["action"]["parameters"]["children"]]
    assert len(waiting) == min(many, 100)
    costs = []
    while waiting:
        costs.append(cost(partial(_end, service, waiting.pop()), 1))
        if not waiting:
            status = service.status(run)
            listed = status.get("action", {}).get("parameters", {}).get("children", [])
            waiting = [child["workflow_id"] for child in listed]
    assert service.status(run)["result"]["o"] == list(range(many))
    service.close()
    return statistics.median(costs) / alone


def _end(service: SqliteService, child: str) -> None:
    service.next_step(child)
    service.submit(child, "s", RESULT)


def runs_at_once(server: Server, count: int) -> Counter[str]:
    """Runs that are all under way, each call made before the one for the run before is answered. How they end."""
    for _ in range(count):
        server.request("tools/call", name="start_workflow", arguments={"workflow": "two"})
    runs = [server.next_answer()["structuredContent"]["workflow_id"] for _ in range(count)]
    assert len(set(runs)) == count
    for step_id in ("a", "b"):
        for run in runs:
            arguments = {"workflow_id": run, "step_id": step_id, "result": RESULT}
            server.request("tools/call", name="submit_result", arguments=arguments)
        replies = [server.next_answer()["structuredContent"] for _ in runs]
        assert {reply["workflow_id"] for reply in replies} == set(runs)
    return Counter(str(reply["status"]) for reply in replies)


def hammer(nursery: Nursery, folder: Path, servers: int, turns: int) -> dict[str, int]:
    """Servers on one store that all want every step of one run, each with runs of its own beside it."""
    first = nursery.server(folder)
    shared = first.call("start_workflow", workflow="loop")["workflow_id"]
    first.kill()
    first.gone()
    wins: dict[str, list[str]] = {}

    def work(name: str) -> None:
        server = nursery_server[name]
        won = wins.setdefault(name, [])
        for number in range(turns):
            step_id = server.call("get_workflow_status", workflow_id=shared)["action"]["step_id"]
            try:
                result = {**RESULT, "stderr": name}
                server.call("submit_result", workflow_id=shared, step_id=step_id, result=result)
                won.append(step_id)
            except Refused as refused:
                if "answered" not in str(refused) and "is no longer pending" not in str(refused):
                    raise
            if number % 5 == 0:
                own = server.call("start_workflow", workflow="two")["workflow_id"]
                for step in ("a", "b"):
                    server.call("submit_result", workflow_id=own, step_id=step, result=RESULT)

    names = [f"server-{number}" for number in range(servers)]
    nursery_server = {name: nursery.server(folder) for name in names}
    failures: list[BaseException] = []

    def guarded(name: str) -> None:
        try:
            work(name)
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=guarded, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    for server in nursery_server.values():
        server.kill()
        server.gone()
    assert not failures, failures
    service = opened(folder)
    events = []
    while more := service.history(shared, after=len(events), limit=500)["events"]:
        events += more
    submitted = {
        event["step_id"]: event["result"]["stderr"] for event in events if event["event"] == "submitted"
    }
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert submitted == {step_id: name for name, won in wins.items() for step_id in won}
    ended = service.runs("completed", limit=500)["runs"]
    assert len(ended) == servers * len(range(0, turns, 5))
    service.close()
    return {name: len(won) for name, won in wins.items()}


def bytes_per_step(folder: Path, count: int) -> float:
    """What the file grows by for a step with a result of 300 bytes."""
    project(folder)
    sizes = []
    for turns in (0, count):
        place = folder / f"turns-{turns}"
        place.mkdir()
        service = SqliteService(Store(place / "state.db"), Registry(folder / "generated"))
        run = service.start("loop")["workflow_id"]
        for number in range(turns):
            step_id = "work" if number == 0 else f"work@{number + 1}"
            service.submit(run, step_id, RESULT)
        service.close()
        sizes.append((place / "state.db").stat().st_size)
    return (sizes[1] - sizes[0]) / count


def snapshots() -> list[Snapshot]:
    """All that this process holds in memory."""
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, Snapshot)]


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    text = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
    return int(text.split()[1]) * 4096


def soak(
    server: Server, rounds: int, every: int, tell: Callable[[float], None] = lambda share: None
) -> list[int]:
    """One server for a long time, with all kinds of calls. Its memory, again and again."""
    memory = []
    for number in range(rounds):
        run = server.call("start_workflow", workflow="two")["workflow_id"]
        server.call("submit_result", workflow_id=run, step_id="a", result=RESULT)
        try:
            server.call("submit_result", workflow_id=run, step_id="b", result={"nonsense": number})
        except Refused as refused:
            if "does not fit" not in str(refused):
                raise
        server.call("get_workflow_history", workflow_id=run)
        server.call("get_workflow_state", workflow_id=run, fields=["a"])
        server.call("list_runs")
        if number % 3:
            server.call("submit_result", workflow_id=run, step_id="b", result=RESULT)
        else:
            server.call("cancel_workflow", workflow_id=run, reason=f"round {number}")
        tell(number / rounds)
        if number % every == every - 1:
            memory.append(resident(server.pid))
    return memory


def line(ratios: dict[str, float]) -> str:
    return ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items())
