"""The steps of a graph of dependencies, arranged so that each begins when what it depends on has ended.

A dialect with dependencies gives its steps in waves, one parallel step after the other. That order is right and every
check knows it, but a step waits for a whole wave. Here the waves are split. Where everything that follows depends
on everything before, the sequence is kept, since nothing would begin earlier. Between two such places the branches of
all waves become those of one parallel step, and each branch waits for the ends of others. Steps that form a chain share
a branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wfc.config import AT_ONCE
from wfc.language.steps.base import Step
from wfc.language.values import Word
from wfc.struct import struct
from wfc.yaml import Scalar

Needs = Mapping[str, frozenset[str]]
"""The steps of a graph, each with those that must have ended before it begins."""


@struct(eq=False)
class _Unit:
    """One node of the graph: its steps, and the parallel step of the wave that it was in."""

    name: str
    steps: list[Step]
    wave: Step | None


def scheduled(steps: list[Step], needs: Needs) -> list[Step]:
    units = list(_units(steps, needs))
    # Two nodes with one name, or one that is not in the graph: the dependencies are not reliable.
    if len({unit.name for unit in units}) < len(units) or not all(unit.name in needs for unit in units):
        return steps  # Checks have reported why the graph can't be split.
    inside = {id(step) for unit in units for step in (unit.wave, *unit.steps) if step is not None}
    numbers = [number for number, step in enumerate(steps) if id(step) in inside]
    if not numbers:
        return steps
    # Fewer dependencies mean fewer branches that wait for each other.
    needs = _without_implied(units, needs)
    found = steps[: numbers[0]]
    for segment in _segments(units, needs):
        for part in _divided(segment):
            found += _arranged(part, needs, {step.name for step in steps})
    return found + steps[numbers[-1] + 1 :]


def _units(steps: list[Step], needs: Needs) -> Iterator[_Unit]:
    last: _Unit | None = None
    for step in steps:
        branches = step.concurrent()
        # An empty `belongs_to` marks what the dialect has added as a wave.
        if branches and step.belongs_to == "":
            yield from (_Unit(name, branch, step) for name, branch in branches.items())
            last = None
            continue
        name = step.belongs_to if step.belongs_to is not None else step.name
        # Steps of one node that follow each other, such as an action and its check.
        if last is not None and last.name == name:
            last.steps.append(step)
        elif name in needs:
            last = _Unit(name, [step], None)
            yield last


def _without_implied(units: list[_Unit], needs: Needs) -> Needs:
    """The direct dependencies of each, without transitive ones."""
    behind: dict[str, frozenset[str]] = {}
    found: dict[str, frozenset[str]] = {}
    for unit in units:  # Dependencies come first.
        direct = needs[unit.name] & behind.keys()
        implied = frozenset[str]().union(*(behind[name] for name in direct))
        behind[unit.name] = direct | implied
        found[unit.name] = direct - implied
    return found


def _segments(units: list[_Unit], needs: Needs) -> Iterator[list[_Unit]]:
    """The units, divided where each that follows depends on each before, directly or not."""
    # A bit for each unit: sets of units are then compared in one operation.
    bit = {unit.name: 1 << number for number, unit in enumerate(units)}
    before: dict[str, int] = {}
    for unit in units:  # Dependencies come first.
        before[unit.name] = 0
        for name in needs[unit.name]:
            before[unit.name] |= before[name] | bit[name]
    shared = [-1]
    """The dependencies of all units from a number on, counted from the end."""
    for unit in reversed(units):
        shared.append(shared[-1] & before[unit.name])
    shared.reverse()
    segment: list[_Unit] = []
    held = 0
    for number, unit in enumerate(units):
        # Everything so far is needed by all that follows, so a sequence loses nothing.
        if segment and not held & ~shared[number]:
            yield segment
            segment, held = [], 0
        segment.append(unit)
        held |= bit[unit.name]
    if segment:
        yield segment


def _divided(segment: list[_Unit]) -> Iterator[list[_Unit]]:
    """The segment, in parts of whole waves that have no more branches than a run may have pending actions."""
    part: list[_Unit] = []
    for wave in _waves(segment):
        if part and len(part) + len(wave) > AT_ONCE:
            yield part
            part = []
        part += wave
    yield part


def _waves(segment: list[_Unit]) -> Iterator[list[_Unit]]:
    wave: list[_Unit] = []
    for unit in segment:
        if wave and (unit.wave is None or unit.wave is not wave[-1].wave):
            yield wave
            wave = []
        wave.append(unit)
    yield wave


def _arranged(part: list[_Unit], needs: Needs, taken: set[str]) -> list[Step]:
    waves = list(_waves(part))
    if len(waves) == 1:
        [unit, *others] = part
        # A wave as it was, or a single step without a parallel step around it.
        return [unit.wave] if unit.wave is not None and others else unit.steps
    first = next(unit.wave for unit in part if unit.wave is not None)
    branches, after = _branches(part, needs)
    assert first.id is not None
    node, name = first.id.node, _free(f"from-{first.name}", taken)
    return [first.arranged(Word(Scalar(node.span, name, name, node.style)), branches, after)]


def _branches(part: list[_Unit], needs: Needs) -> tuple[dict[str, list[Step]], dict[str, tuple[str, ...]]]:
    """The branches of the units, and the branches that each waits for."""
    inside = {unit.name for unit in part}
    before = {unit.name: needs[unit.name] & inside for unit in part}
    followers: dict[str, list[str]] = {unit.name: [] for unit in part}
    for unit in part:
        for name in before[unit.name]:
            followers[name].append(unit.name)
    branches: dict[str, list[Step]] = {}
    after: dict[str, tuple[str, ...]] = {}
    branch_of: dict[str, str] = {}
    for unit in part:
        [*waits] = [other.name for other in part if other.name in before[unit.name]]
        if len(waits) == 1 and len(followers[waits[0]]) == 1:
            # Only this one follows, and on nothing else: it continues the branch.
            branch_of[unit.name] = branch_of[waits[0]]
            branches[branch_of[unit.name]] += unit.steps
            continue
        branch_of[unit.name] = unit.name
        branches[unit.name] = list(unit.steps)
        if waits:
            after[unit.name] = tuple(dict.fromkeys(branch_of[name] for name in waits))
    return branches, after


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"workflow-{name}"
    return name
