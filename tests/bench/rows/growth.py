"""How much longer large inputs take than small ones, and hostile sources than an honest one.

Tests hold the same by counting calls; what happens inside of one call, in C, shows here only.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.bench.measure import Row, growth_of, seconds_of
from tests.bench.workloads import workflow
from tests.growth import GROWTH, LONG_RUNS, Work
from tests.property.survival import compiled
from tests.robustness.cases import CASES
from tests.torture.load import large_state, many_children, many_runs, processor_seconds
from wfc.config import CompileLimits, Config
from wfc.template.parse import parse_template
from wfc.yaml import Source, YamlLimits, parse_document


def rows() -> Iterator[Row]:
    for name, growth in GROWTH.items():
        times, small, large = growth_of(_do, growth.make(growth.small), growth.make(growth.large), _forget)
        sizes = f"{growth.large:,} to {growth.small:,}"
        yield Row(f"{name}, {sizes}", times, 1.5 * growth.most, detail=_milliseconds(small, large))
    yield _long_runs()
    yield _beside_pyyaml()
    yield _hostile()
    yield from _load()


def _do(work: Work) -> None:
    work()


def _forget() -> None:
    parse_template.cache_clear()


def _parse(text: str) -> None:
    parse_document(Source("flow.yaml", text), YamlLimits())


def _long_runs() -> Row:
    """The worst of all. What takes less than a millisecond says nothing about growth."""
    worst = (0.0, "")
    for text in LONG_RUNS:
        times, small, large = growth_of(_parse, text[: len(text) // 2], text, _forget)
        if small > 0.001:
            worst = max(worst, (times, f"{text[:6]!r}: {_milliseconds(small, large)}"))
    return Row("parsing one thing again and again, 2 times as often", worst[0], 5, detail=worst[1])


def _beside_pyyaml() -> Row:
    step = "  - id: s{0}\n    type: shell\n    command: |\n      make {0}\n"
    step += "    when: '{{{{ x }}}}'\n    tags: [a, b]\n"
    text = "name: x\nsteps:\n" + "".join(step.format(number) for number in range(200))
    works = (lambda: yaml.load(text, Loader=yaml.CSafeLoader)), (lambda: _parse(text))
    times, floor, ours = growth_of(_do, *works, _forget)
    return Row("parsing with places, to PyYAML's C loader", times, 3.5, detail=_milliseconds(floor, ours))


def _hostile() -> Row:
    """The slowest hostile source, beside an honest workflow."""
    config = Config(Path("."), limits=CompileLimits(steps=2000))
    text = workflow("honest", 1000)
    honest = seconds_of(lambda given: compiled(given, config=config), text, _forget)
    heavy = [case for case in CASES if case.heavy]
    found = {
        case: seconds_of(compiled, case.data[: config.limits.source_bytes + 1], _forget) for case in heavy
    }
    worst = max(heavy, key=lambda case: found[case])
    detail = f"{worst}: {_milliseconds(honest, found[worst])}"
    return Row("the slowest hostile source, to 1,000 honest steps", found[worst] / honest, 4, detail=detail)


def _load() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        places = [folder / part for part in ("runs", "state", "children")]
        for place in places:
            place.mkdir()
        ratios = many_runs(places[0], 10_000, processor_seconds)
        slowest = max(ratios, key=lambda call: ratios[call])
        yield Row(
            "the call that suffers most from 10,000 runs, to 100 runs", ratios[slowest], 3, detail=slowest
        )
        state = large_state(places[1], processor_seconds)
        yield Row("a step beside 1 MB of state, to one beside none", state, 3)
        children = many_children(places[2], 100, processor_seconds)
        yield Row("the end of one of 100 children, to a step alone", children, 6)


def _milliseconds(small: float, large: float) -> str:
    return f"{small * 1000:.1f} ms and {large * 1000:.1f} ms"
