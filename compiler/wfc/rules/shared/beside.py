"""What other branches of a `parallel` write while a step of one runs."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from wfc.language.ast import Scope, walk
from wfc.language.scopes import blocks_of
from wfc.language.steps.base import Step
from wfc.language.steps.parallel import Parallel


class Beside:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def writes(self, step: Step, field: str) -> bool:
        """Whether a branch beside the one that a step stands in writes a field."""
        return any(total[field] > own[field] for total, own in self._counts.get(step, ()))

    @cached_property
    def _counts(self) -> dict[Step, list[tuple[Counter[str], Counter[str]]]]:
        """For each step, how often each field is written in all branches around it, and in its own."""
        if not any(isinstance(step, Parallel) for step in self._scope.walk()):
            return {}
        blocks = blocks_of(self._scope)
        own: dict[int, Counter[str]] = {}
        total: dict[Step, Counter[str]] = {}
        for step in blocks:
            if isinstance(step, Parallel):
                total[step] = Counter()
                for branch in step.blocks():
                    own[id(branch)] = Counter(name for one in walk(branch) for name in one.writes())
                    total[step].update(own[id(branch)])
        return {
            step: [
                (total[around.owner], own[id(around.steps)])
                for around in block.around()
                if around.owner is not None and around.owner in total
            ]
            for step, block in blocks.items()
        }
