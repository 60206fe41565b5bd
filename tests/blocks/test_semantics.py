"""Any graph of blocks ends as the rules of the language say: held against a plain simulation of those rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from tests.unit.machine.support import Drive

STATES = ("succeeded", "failed", "skipped")


@dataclass(frozen=True)
class Block:
    name: str
    exit_code: int | None
    """None: it crashes."""
    waits: tuple[tuple[str, bool], ...]
    """What it waits for, and whether it requires that."""
    condition: tuple[tuple[str, str, bool], ...]
    """All of these must hold: of a block, one of STATES, negated or not."""
    may_crash: bool = False
    """Whether it has `continue_on_error`."""


def made_up(seed: int, codes: tuple[int | None, ...] = (0, 0, 0, 1)) -> list[Block]:
    """A graph in which a block waits for earlier ones and asks only for what is upstream."""
    random = Random(seed)
    blocks: list[Block] = []
    upstream: dict[str, set[str]] = {}
    for number in range(random.randint(2, 9)):
        earlier = [block.name for block in blocks]
        chosen = random.sample(earlier, random.randint(0, min(3, len(earlier))))
        name = f"b{number}"
        upstream[name] = set(chosen).union(*(upstream[one] for one in chosen)) if chosen else set()
        asked = sorted(upstream[name])
        condition = tuple(
            (random.choice(asked), random.choice(STATES), random.random() < 0.3)
            for _ in range(random.choice((0, 0, 1, 2)))
            if asked
        )
        waits = tuple((one, random.random() < 0.6) for one in chosen)
        blocks.append(Block(name, random.choice(codes), waits, condition))
    shuffled = blocks.copy()
    random.shuffle(shuffled)
    return shuffled


def to_yaml(blocks: list[Block]) -> str:
    lines = ["name: graph", "description: d", "blocks:"]
    for block in blocks:
        lines += [f"  - id: {block.name}", "    type: Shell", "    inputs: {command: make}"]
        if block.condition:
            parts = [f"{'not ' if no else ''}${{blocks.{one}.{state}}}" for one, state, no in block.condition]
            lines.append(f"    condition: {' and '.join(parts)}")
        if block.may_crash:
            lines.append("    continue_on_error: true")
        if block.waits:
            shown = [f"{{block: {one}, required: {str(must).lower()}}}" for one, must in block.waits]
            lines.append(f"    depends_on: [{', '.join(shown)}]")
    lines.append("outputs:")
    for block in blocks:
        lines.append(f"  {block.name}: ${{blocks.{block.name}.status}} ${{blocks.{block.name}.outcome}}")
        lines.append(f"  code_{block.name}: ${{blocks.{block.name}.exit_code}}")
    return "\n".join(lines) + "\n"


def endings(blocks: list[Block]) -> dict[str, str]:
    """What the rules say, block by block."""
    ended: dict[str, str] = {}
    for block in sorted(blocks, key=lambda block: int(block.name[1:])):
        runs = all(ended[one] == "succeeded" for one, must in block.waits if must)
        runs = runs and all((ended[one] == state) is not no for one, state, no in block.condition)
        ended[block.name] = ("succeeded" if block.exit_code == 0 else "failed") if runs else "skipped"
    return ended


def outlived(blocks: list[Block]) -> set[str]:
    """The blocks after which another one comes that does not require them, in however many steps."""
    by_name = {block.name: block for block in blocks}

    def before(name: str, only_required: bool) -> set[str]:
        near = {one for one, must in by_name[name].waits if must or not only_required}
        return near.union(*(before(one, only_required) for one in near))

    return set().union(*(before(name, False) - before(name, True) for name in by_name))


def simulated(blocks: list[Block]) -> dict[str, str]:
    ended = endings(blocks)
    words = {"succeeded": "completed success", "failed": "completed failure", "skipped": "skipped n/a"}
    crashed = {block.name for block in blocks if block.exit_code is None and ended[block.name] == "failed"}
    codes = {
        f"code_{block.name}": str((block.exit_code or 0) if ended[block.name] != "skipped" else 0)
        for block in blocks
    }
    return {name: "failed n/a" if name in crashed else words[state] for name, state in ended.items()} | codes


def driven(blocks: list[Block], seed: int) -> tuple[Drive, list[str]]:
    """A run to its end, and the blocks that were tried in it, one after the other."""
    codes = {block.name: block.exit_code for block in blocks}
    order = Random(seed)
    drive = Drive(to_yaml(blocks))
    tried: list[str] = []
    while drive.pending:
        visit = order.choice(drive.pending)
        tried.append(visit)
        result: dict[str, Any] = {"stdout": "", "stderr": "", "exit_code": codes[visit]}
        drive.submit(visit, {"error": "it crashed"} if codes[visit] is None else result)
    return drive, tried


@pytest.mark.parametrize("seed", range(60))
def test_a_graph_ends_as_the_rules_say(seed: int) -> None:
    blocks = made_up(seed)
    drive, _ = driven(blocks, seed)
    assert drive.at.error is None
    assert drive.at.result == simulated(blocks)


@pytest.mark.parametrize("seed", range(120))
def test_a_crash_fails_the_run_when_all_that_can_run_without_the_block_has(seed: int) -> None:
    blocks = made_up(seed, (0, 0, 1, None))
    drive, tried = driven(blocks, seed)
    ended = endings(blocks)
    runs = {block.name for block in blocks if ended[block.name] != "skipped"}
    crashing = {block.name for block in blocks if block.exit_code is None}
    assert drive.at.status == ("failed" if crashing & runs else "completed")
    if crashing & runs:
        assert drive.error["step_id"] == next(name for name in tried if name in crashing)
    if crashing & runs <= outlived(blocks):
        assert set(tried) == runs
    else:
        assert set(tried) <= runs
        assert tried[-1] in crashing


@pytest.mark.parametrize("seed", range(60))
def test_a_crash_of_a_block_that_may_crash_leaves_the_run_as_it_is(seed: int) -> None:
    random = Random(seed)
    blocks = [
        replace(block, may_crash=block.exit_code is None or random.random() < 0.3)
        for block in made_up(seed, (0, 0, 1, None))
    ]
    drive, tried = driven(blocks, seed)
    assert drive.at.error is None
    assert drive.at.result == simulated(blocks)
    ended = endings(blocks)
    assert set(tried) == {block.name for block in blocks if ended[block.name] != "skipped"}


@pytest.mark.parametrize("seed", range(60))
def test_only_a_crash_of_a_block_that_may_not_crash_fails_the_run(seed: int) -> None:
    random = Random(seed)
    blocks = [replace(block, may_crash=random.random() < 0.5) for block in made_up(seed, (0, 0, 1, None))]
    drive, tried = driven(blocks, seed)
    fatal = {block.name for block in blocks if block.exit_code is None and not block.may_crash}
    ended = endings(blocks)
    assert drive.at.status == ("failed" if any(ended[name] != "skipped" for name in fatal) else "completed")
    if drive.at.status == "failed":
        assert drive.error["step_id"] == next(name for name in tried if name in fatal)
    else:
        assert drive.at.result == simulated(blocks)
