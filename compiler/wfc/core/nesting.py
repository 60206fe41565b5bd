"""Where a step stands: the list it is in, and the lists around that one. Jumps may go to those only."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.core.ast import Scope
from wfc.core.values import Word
from wfc.steps.base import Recovery, Step
from wfc.steps.goto import Goto
from wfc.structs import struct


@struct(frozen=True, eq=False)
class Block:
    """A list of steps."""

    steps: list[Step]
    label: str
    """What a message calls it: "the `then` of `check-tests`"."""
    owner: Step | None = None
    outer: Block | None = None

    def around(self) -> Iterator[Block]:
        """This list and those that enclose it, from the inside out."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.outer


def blocks_of(scope: Scope) -> dict[Step, Block]:
    """The list that each step of a scope stands in, in source order."""
    found: dict[Step, Block] = {}
    _collect(Block(scope.block, f"the steps of {scope.known_as}"), found)
    return found


def _collect(block: Block, found: dict[Step, Block]) -> None:
    for step in block.steps:
        found[step] = block
        inner = [steps for steps in step.blocks() if steps]
        labels = dict(_labels(step)) if inner else {}
        for steps in inner:
            label = labels.get(id(steps), "a list")
            _collect(Block(steps, f"{label} of `{step.name}`", step, block), found)


def _labels(step: Step) -> Iterator[tuple[int, str]]:
    """What the lists inside a step are called, by their identity: `blocks` gives them without a name."""
    for name, value in step.values.items():
        if isinstance(value, list):
            yield id(value), f"the `{name}`"
        elif isinstance(value, dict):
            yield from ((id(steps), f"the branch `{branch}`") for branch, steps in value.items())


def jumps(step: Step) -> Iterator[tuple[str, Word]]:
    """The steps that this one names as places to go on at, each with the field that does."""
    if isinstance(step, Goto):
        if step.target:
            yield "target", step.target
        if step.else_:
            yield "else", step.else_
    handler = step.values.get("on_error")
    if isinstance(handler, Recovery) and handler.goto:
        yield "on_error", handler.goto


class Targets:
    """The steps of a scope as places to jump to."""

    def __init__(self, scope: Scope) -> None:
        self.blocks = blocks_of(scope)
        self._by_name: dict[str, Step] = {}
        for step in self.blocks:
            self._by_name.setdefault(step.name, step)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._by_name if name)

    def __getitem__(self, name: str) -> Step:
        return self._by_name[name]

    def block_of(self, name: str) -> Block:
        return self.blocks[self._by_name[name]]

    def can_reach(self, step: Step, name: str) -> bool:
        """Whether a jump from this step may go there: to its own list, or to one around it."""
        return name in self and self.block_of(name) in self.blocks[step].around()

    def in_reach(self, step: Step) -> Iterator[str]:
        """The other steps that a jump from this one may go to, the nearest list first."""
        around = self.blocks[step].around()
        return (other.name for block in around for other in block.steps if other is not step and other.name)
