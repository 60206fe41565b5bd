"""JavaScript expressions, beside expressions of the core that mean the same, and derived fields that use them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from tests.bench.measure import RUNS, Row, python
from tests.support import loaded
from wfc_runtime import expr, javascript
from wfc_runtime.machine.simulation import Simulation

_MEANS: dict[str, Any] = {"now": datetime(2026, 1, 1, tzinfo=UTC), "uuid_seed": "bench"}
_FIRST = """
from datetime import UTC, datetime
from wfc_runtime import expr{more}
"""
_EVALUATE = """, javascript
javascript.evaluate("{{ state.n + 1 }}", {"state": {"n": 1}}, now=datetime.now(UTC), uuid_seed="x")
"""
_FIELDS = 200


def rows() -> Iterator[Row]:
    yield _condition()
    yield _large_transform()
    yield from _derived()
    with tempfile.TemporaryDirectory() as name:
        yield _first(Path(name))
        yield _check(Path(name))


def _time(work: Callable[[], object], times: int = 1) -> float:
    """Seconds of CPU time that one call takes: the median of a few measurements, after one that warms up."""
    found = []
    for _ in range(RUNS + 1):
        began = process_time()
        for _ in range(times):
            work()
        found.append((process_time() - began) / times)
    return median(found[1:])


def _condition() -> Row:
    context = {"state": {"n": 3, "name": "x", "list": [1, 2]}, "inputs": {"env": "dev"}}
    ours = "{{ state.n > 2 && state.name === 'x' && state.list.includes(2) }}"
    core = "{{ state.n > 2 and state.name == 'x' and 2 in state.list }}"
    one = _time(lambda: javascript.evaluate_condition(ours, context, **_MEANS), 2000)
    other = _time(lambda: expr.evaluate_condition(core, context, **_MEANS), 2000)
    detail = f"{one * 1e6:.0f} us; the core's takes {other * 1e6:.0f} us"
    return Row("a condition in JavaScript, to the same in the core", one / other, 3, detail=detail)


def _large_transform() -> Row:
    items = [{"id": i, "path": f"src/file_{i}.ts", "ok": i % 2 == 0, "size": i * 1.5} for i in range(10_000)]
    context = {"input": items}
    one = _time(lambda: javascript.evaluate("{{ input.filter(x => x.ok) }}", context, **_MEANS))
    other = _time(lambda: json.loads(json.dumps(items)))
    detail = f"{one * 1e3:.0f} ms for {len(json.dumps(items)) // 1000} kB of JSON"
    return Row(
        "a transform over 10,000 objects, to their JSON there and back", one / other, 2.5, detail=detail
    )


def _flow(fields: list[str]) -> Simulation:
    head = "name: bench\nversion: 1.0.0\nexpressions: javascript\ninitial_state: {n: 0, other: 0}\nderived:\n"
    steps = """
steps:
- {id: ask, type: mcp_call, tool: t.t, result_schema: {type: integer}, output_to: n}
- {id: again, type: goto, needs_state: [n], when: '{{ state.n > -1 }}', target: ask, max_iterations: 100000}
"""
    text = head + "\n".join(fields) + steps
    (workflow,) = loaded(text).values()
    return workflow.machine.simulate({})


def _writes(run: Simulation) -> float:
    """Seconds that one write of `n` takes, each with another value."""
    values = iter(range(1, 1_000_000))

    def write() -> None:
        (visit,) = run.pending
        run.submit(visit, next(values))

    return _time(write, 20)


def _derived() -> Iterator[Row]:
    one = _writes(_flow(["  f0: {value: '{{ state.n + 1 }}'}"]))
    others = [f"  f{i}: {{value: '{{{{ state.other + {i} }}}}'}}" for i in range(1, _FIELDS)]
    many = _writes(_flow(["  f0: {value: '{{ state.n + 1 }}'}", *others]))
    detail = f"{many * 1e6:.0f} us; with one field {one * 1e6:.0f} us"
    yield Row(
        f"a write that concerns 1 of {_FIELDS} derived fields, to 1 of 1", many / one, 1.3, detail=detail
    )
    chained = [f"  f{i}: {{value: '{{{{ state.f{i - 1} + 1 }}}}'}}" for i in range(1, _FIELDS)]
    chain = _writes(_flow(["  f0: {value: '{{ state.n + 1 }}'}", *chained]))
    texts = [(f"{{{{ state.f{i} + 1 }}}}", {"state": {f"f{i}": i}}) for i in range(_FIELDS)]
    engine = _time(lambda: [javascript.evaluate(text, context, **_MEANS) for text, context in texts])
    detail = f"{chain * 1e3:.1f} ms; the engine alone takes {engine * 1e3:.1f} ms"
    yield Row(f"a chain of {_FIELDS} derived fields, to the engine alone", chain / engine, 3, detail=detail)


def _first(folder: Path) -> Row:
    without = python("-c", _FIRST.replace("{more}", ""), cwd=folder)
    with_ = python("-c", _FIRST.replace("{more}", _EVALUATE), cwd=folder)
    return Row("the first JavaScript in a process", with_ - without, 0.03, "s", digits=3)


def _check(folder: Path) -> Row:
    """Checking texts costs reading them; the files differ in nothing else."""
    times = []
    for language, expression in (
        ("javascript", "state.n + {i} > 2 && state.n < {i}"),
        ("jinja", "state.n + {i} > 2 and state.n < {i}"),
    ):
        lines = [f"  f{i}: {{value: '{{{{ {expression.format(i=i)} }}}}'}}" for i in range(_FIELDS)]
        head = [
            "name: bench",
            "version: 1.0.0",
            f"expressions: {language}",
            "initial_state: {n: 0}",
            "derived:",
        ]
        text = "\n".join([*head, *lines, "steps:", "- {id: write, type: set_state, updates: {n: 1}}"])
        path = folder / f"{language}.yaml"
        path.write_text(text + "\n", encoding="utf-8")
        times.append(python("-m", "wfc", "check", "--no-cache", path.name, cwd=folder))
    detail = f"{times[0]:.2f} s; with core templates {times[1]:.2f} s"
    return Row(
        f"wfc check of {_FIELDS} transforms, to as many core templates",
        times[0] / times[1],
        1.5,
        detail=detail,
    )
