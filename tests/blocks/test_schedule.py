"""A block begins when what it depends on has ended, and not when a whole wave has."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.blocks.support import result, workflow
from tests.support import PATIENCE, check, load
from wfc.findings import Severity
from wfc.ir import Region

WAIT = "until [ -e {file} ]; do sleep 0.05; done"


def graph(*edges: str, more: str = "") -> str:
    """A workflow of echoing commands. `c: a b` is a block `c` that depends on `a` and `b`."""
    blocks = [
        f"  - {{id: {name}, type: Shell, inputs: {{command: echo {name}}}, depends_on: [{', '.join(waits.split())}]}}"
        for name, _, waits in (edge.partition(":") for edge in edges)
    ]
    last = edges[-1].partition(":")[0]
    return workflow("\n".join(blocks) + more, f"  x: ${{blocks.{last}.stdout}}")


def shape(text: str) -> list[str]:
    """The states of the main region in order; a parallel one as its branches, with what each waits for."""
    file = load(text).files[0]
    assert [one for one in check(text) if one.severity is Severity.ERROR] == []
    module = file.scheduled_module
    assert module is not None
    found = []
    for state in module.main.root.states:
        if state.regions:
            titles = {region.end: region.title for region in state.regions}
            found.append(" | ".join(_branch(region, titles) for region in state.regions))
        elif state.kind not in ("when", "gate"):
            found.append(state.title)
    return found


def _branch(region: Region, titles: dict[str, str]) -> str:
    steps = [state.title for state in region.states if state.kind not in ("when", "gate")]
    waits = [
        titles[end]
        for edge in region.edges
        if edge.guard and edge.guard.name == "ended"
        for end in edge.guard.reads
    ]
    return " ".join(steps) + (f" after {' '.join(waits)}" if waits else "")


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (("a:", "b: a", "c: b"), ["a", "b", "c"]),
        (("a:", "b: a", "c: a", "d: b c"), ["a", "b | c", "d"]),
        (("a:", "b:", "c: a b", "d: c"), ["a | b", "c", "d"]),
        (("a:", "b:", "c: a", "d: b"), ["a c | b d"]),
        (("a:", "b:", "c: a", "d: a b"), ["a | b | c after a | d after a b"]),
        (("a:", "b:", "c: a", "d: c", "e: d b"), ["a c d | b", "e"]),
        (("s:", "a: s", "b: s", "c: a", "d: c b", "e: d"), ["s", "a c | b", "d", "e"]),
        (("a:", "b: a", "c: a b", "d: c a"), ["a", "b", "c", "d"]),
        (("a:", "b:", "c: a", "d: a b", "e: c d"), ["a | b | c after a | d after a b", "e"]),
    ],
)
def test_only_where_a_wave_would_wait_too_long_branches_wait_for_each_other(
    edges: tuple[str, ...], expected: list[str]
) -> None:
    assert shape(graph(*edges)) == [*expected, "outputs"]


def test_a_part_with_more_branches_than_a_run_may_ask_for_is_divided() -> None:
    edges = [f"a{n}:" for n in range(30)] + [f"b{n}: a{n} a{(n + 1) % 30}" for n in range(30)]
    found = shape(graph(*edges, "z: " + " ".join(f"b{n}" for n in range(30))))
    assert [len(one.split(" | ")) for one in found] == [30, 30, 1, 1]


def test_a_block_does_not_wait_for_an_unrelated_one(tmp_path: Path) -> None:
    text = workflow(
        f"""
  - {{id: quick, type: Shell, inputs: {{command: "true"}}}}
  - {{id: slow, type: Shell, inputs: {{command: "{WAIT.format(file="two")}", timeout: {PATIENCE}}}}}
  - {{id: after_quick, type: Shell, inputs: {{command: touch one}}, depends_on: [quick]}}
  - id: then
    type: Shell
    inputs: {{command: "{WAIT.format(file="one")}; touch two"}}
    depends_on: [after_quick, quick]
  - {{id: both, type: Shell, inputs: {{command: "ls one two"}}, depends_on: [then, slow]}}
""",
        """
  slow: {value: "${blocks.slow.succeeded}", type: bool}
  wave: {value: "${blocks.both.metadata.wave}", type: int}
""",
    )
    assert result(tmp_path, text) == {"slow": True, "wave": 3}


def test_a_block_that_reads_another_without_waiting_for_it_begins_after_it(tmp_path: Path) -> None:
    """`reader` is in the second wave, and reads a block of the first one."""
    text = workflow(
        """
  - {id: a, type: Shell, inputs: {command: "true"}}
  - {id: slow, type: Shell, inputs: {command: "sleep 0.3; echo late"}}
  - id: reader
    type: Shell
    inputs: {command: "echo ${blocks.slow.exit_code} ${blocks.slow.succeeded}"}
    depends_on: [a]
""",
        "  said: ${blocks.reader.stdout}",
    )
    assert "WF313" in [one.code for one in check(text)]
    assert result(tmp_path, text) == {"said": "0 true\n"}


def test_a_skipped_or_crashed_block_opens_what_only_waits_for_it(tmp_path: Path) -> None:
    text = workflow(
        """
  - {id: a, type: Shell, inputs: {command: "exit 1"}}
  - {id: b, type: Shell, inputs: {command: "true"}}
  - {id: skipped, type: Shell, inputs: {command: "true"}, depends_on: [a]}
  - {id: c, type: Shell, inputs: {command: "true"}, depends_on: [b]}
  - id: end
    type: Shell
    inputs: {command: "echo ${blocks.skipped.status} ${blocks.c.status}"}
    depends_on: [{block: skipped, required: false}, c, {block: a, required: false}]
  - {id: d, type: Shell, inputs: {command: "true"}, depends_on: [b, {block: a, required: false}]}
""",
        "  said: ${blocks.end.stdout}\n  d: ${blocks.d.succeeded}",
    )
    assert result(tmp_path, text) == {"said": "skipped completed\n", "d": "true"}


@pytest.mark.parametrize("seed", range(6))
def test_a_random_graph_runs_every_block_once_after_those_that_it_depends_on(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    names = [f"n{number}" for number in range(14)]
    waits = {
        name: chance.sample(names[:number], k=min(number, chance.choice([0, 0, 1, 1, 2, 3])))
        for number, name in enumerate(names)
    }
    blocks = "\n".join(
        f"  - {{id: {name}, type: Shell, depends_on: [{', '.join(waits[name])}], "
        f'inputs: {{command: "{" && ".join([f"test -e {one}" for one in waits[name]] + [f"mkdir {name}"])}"}}}}'
        for name in chance.sample(names, k=len(names))
    )
    outputs = "\n".join(f"  {name}: {{value: '${{blocks.{name}.succeeded}}', type: bool}}" for name in names)
    assert result(tmp_path, workflow(blocks, outputs)) == dict.fromkeys(names, True)
