"""Which step of the old version is which of the new one."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from wfc.core.ast import Scope, walk
from wfc.core.nesting import Block, blocks_of
from wfc.diff.plain import step_data
from wfc.steps.base import Step


@dataclass(frozen=True)
class Matching:
    pairs: dict[Step, Step]
    """Old to new: those of the same id, and those that only changed their id."""
    added: list[Step]
    removed: list[Step]
    moved: list[Step]
    """Of the new version."""
    blocks: dict[Step, Block]
    """Where each step of the new version stands."""

    @property
    def renamed(self) -> dict[str, str]:
        return {old.name: new.name for old, new in self.pairs.items() if old.name != new.name}


def match_steps(old: Scope, new: Scope) -> Matching:
    before, after = list(old.walk()), list(new.walk())
    by_name = {step.name: step for step in reversed(after)}
    pairs = {step: by_name[step.name] for step in before if step.name in by_name}
    taken = set(pairs.values())
    added = [step for step in after if step not in taken]
    removed = [step for step in before if step not in pairs]
    for gone, come in _renamed(removed, added):
        pairs[gone] = come
    removed = [step for step in removed if step not in pairs]
    added = [step for step in added if step not in set(pairs.values())]
    blocks = blocks_of(new)
    return Matching(pairs, added, removed, list(_moved(blocks_of(old), blocks, pairs)), blocks)


def _renamed(removed: list[Step], added: list[Step]) -> Iterator[tuple[Step, Step]]:
    """Steps that are the same in all but their id."""
    by_body: dict[str, list[Step]] = {}
    for step in added:
        by_body.setdefault(_body(step), []).append(step)
    for step in removed:
        same = by_body.get(_body(step))
        if same:
            yield step, same.pop(0)


def _body(step: Step) -> str:
    inside = [[one.name for one in walk(block)] for block in step.blocks()]
    reads = sorted({word.text for word in step.declared})
    return json.dumps([step_data(step), reads, inside], sort_keys=True, default=str)


def _moved(old: dict[Step, Block], new: dict[Step, Block], pairs: dict[Step, Step]) -> Iterator[Step]:
    """Those in another list, and the fewest whose moving explains the order in each list."""
    stayed: dict[tuple[Step | None, str], list[tuple[Step, Step]]] = {}
    for step in (one for one in old if one in pairs):
        same, owner = pairs[step], old[step].owner
        key = (pairs.get(owner) if owner else None, _list_name(old[step]))
        if key == (new[same].owner, _list_name(new[same])):
            stayed.setdefault(key, []).append((step, same))
        else:
            yield same
    place = {step: number for number, step in enumerate(new)}
    for steps in stayed.values():
        places = [place[same] for _, same in steps]
        kept = _longest_rise(places)
        yield from (same for number, (_, same) in enumerate(steps) if number not in kept)


def _list_name(block: Block) -> str:
    return block.label.partition(" of ")[0]


def _longest_rise(numbers: list[int]) -> set[int]:
    """The places of the longest rising run of numbers, others left out."""
    ends: list[int] = []
    places: list[int] = []
    before: list[int | None] = []
    for place, number in enumerate(numbers):
        at = bisect_left(ends, number)
        before.append(places[at - 1] if at else None)
        ends[at : at + 1] = [number]
        places[at : at + 1] = [place]
    found: set[int] = set()
    last = places[-1] if places else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found
