"""Derived fields and loops on the state: what one write and one turn cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import process_time
from typing import Any

from tests.bench.measure import RUNS, Row
from tests.runtime.support import modules_of, steps
from wfc_runtime.machine.events import Submit
from wfc_runtime.machine.simulation import Simulation
from wfc_runtime.machine.step import step

FIELDS, TURNS, WRITES = 200, 1_000, 50


def rows() -> Iterator[Row]:
    many, one = _Writes(_beside(FIELDS)), _Writes(_beside(1))
    yield Row(
        f"a write that concerns 1 of {FIELDS} derived fields, to one with 1 field",
        _median(many.write_all) / _median(one.write_all),
        1.3,
        detail=f"{many.computed} computed",
    )
    chain = _Writes(_chain(FIELDS))
    chain.write()
    yield Row(f"computations of a chain of {FIELDS} derived fields", chain.computed, FIELDS, digits=0)
    chain.write(same=True)
    yield Row("computations for a value that was there", chain.computed, 0, digits=0)
    changed, assigned = (_median(lambda text=text: _simulated(text)) for text in (_loop(True), _loop(False)))
    yield Row(f"a while of {TURNS:,} turns with 3 changes, to one with set_state", changed / assigned, 5)


def _median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS + 1):
        began = process_time()
        work()
        times.append(process_time() - began)
    return median(times[1:])


def _simulated(text: str) -> Simulation:
    (source,) = [body for name, body in modules_of(text).items() if name.endswith(".py")]
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "generated.py", "exec"), namespace)
    found: Simulation = namespace["WORKFLOW"].machine.simulate({})
    return found


class _Writes:
    """A run that waits for one number after the other."""

    def __init__(self, text: str) -> None:
        run = _simulated(text)
        self._machine, self._snapshot = run.machine, run.snapshot
        self._count = 0
        self.computed = 0

    def write_all(self) -> None:
        for _ in range(WRITES):
            self.write()

    def write(self, same: bool = False) -> None:
        self._count += 1
        visit = "ask" if self._count == 1 else f"ask@{self._count}"
        value = self._snapshot.state["n"] if same else self._count
        event = Submit(at=0.0, id=f"bench/{self._count}", visit=visit, result=value)
        outcome = step(self._machine, self._snapshot, event)
        self._snapshot, self.computed = outcome.snapshot, len(outcome.derived)


_ASKING = (
    "{id: ask, type: mcp_call, tool: t.t, result_schema: {type: integer}, output_to: n}",
    "{id: again, type: goto, needs_state: [n], when: '{{ state.n >= 0 }}', target: ask, max_iterations: 100000}",
)


def _beside(count: int) -> str:
    """One derived field that depends on what is written, and others that do not."""
    fields = ["f0: {value: '{{ state.n + 1 }}'}"]
    fields += [f"f{one}: {{value: '{{{{ state.m + {one} }}}}'}}" for one in range(1, count)]
    return steps(*_ASKING, head=_head(fields))


def _chain(count: int) -> str:
    fields = ["f0: {value: '{{ state.n + 1 }}'}"]
    fields += [f"f{one}: {{value: '{{{{ state.f{one - 1} + 1 }}}}'}}" for one in range(1, count)]
    return steps(*_ASKING, head=_head(fields))


def _head(fields: list[str]) -> str:
    return "initial_state: {n: 0, m: 0}\nderived:\n" + "\n".join(f"  {one}" for one in fields)


def _loop(changes: bool) -> str:
    names = ("a", "b", "c")
    if changes:
        listed = ", ".join(f"{{path: {name}, operation: increment}}" for name in names)
        step = f"{{id: add, type: change, changes: [{listed}]}}"
    else:
        listed = ", ".join(f"{name}: '{{{{ state.{name} + 1 }}}}'" for name in names)
        step = f"{{id: add, type: set_state, needs_state: [a, b, c], updates: {{{listed}}}}}"
    return steps(
        f"{{id: loop, type: while, needs_state: [a], if: '{{{{ state.a < {TURNS} }}}}', max_iterations: {TURNS + 1},"
        f" steps: [{step}]}}",
        head="initial_state: {a: 0, b: 0, c: 0}",
    )
