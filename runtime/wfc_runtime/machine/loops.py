"""Loops with variables: over the items of a list, on the run's own state, or with a count in a field.

A loop is identified by the state at which each of its turns begins. The number of the turn follows from the visits of
that state, so a snapshot has only the items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wfc_runtime.contract import Json
from wfc_runtime.errors import StepError
from wfc_runtime.machine.effects import Begin, Effect
from wfc_runtime.machine.values import size_of
from wfc_runtime.results import describe

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run


@dataclass(frozen=True, kw_only=True)
class LoopNames:
    """The names of a loop's variables, and the states inside it, which see them."""

    item: str | None = None
    index: str | None = None
    inside: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EachItem(Begin):
    """Enter a loop over the items of a list, which is evaluated once."""

    items: Json
    max_items: int | None = None

    @property
    def texts(self) -> list[Json]:
        return [self.items]

    def enter(self, run: Run, state: str) -> None:
        items = run.evaluate(self.items, self.reads)
        if not isinstance(items, list):
            raise StepError("items", f"`items` gave {describe(items)}, not a list")
        if self.max_items is not None and len(items) > self.max_items:
            raise StepError(
                "max_items", f"`items` gave {len(items):,} items; max_items is {self.max_items:,}"
            )
        size = size_of(items)
        if size > run.state_bytes:
            raise StepError("state_size", f"the items are {size:,} bytes; the limit is {run.state_bytes:,}")
        # After all checks: a loop that can't begin must leave its count as it was.
        super().enter(run, state)
        run.snapshot.items = {**run.snapshot.items, self.loop: items}


@dataclass(frozen=True, kw_only=True)
class LoopTurn(Effect):
    """Begin a turn of a loop: write its number, its item or its index to fields."""

    count_to: str | None = None
    """Gets the number of the next turn, from 1, if the loop continues."""
    item_to: str | None = None
    index_to: str | None = None

    @property
    def fields(self) -> list[str]:
        return [name for name in (self.count_to, self.item_to, self.index_to) if name]

    def enter(self, run: Run, state: str) -> None:
        values: dict[str, Json] = {}
        if self.count_to is not None:
            values[self.count_to] = turn_of(run, state)
        # On the entry after the last item there is none; the fields then get null, and the loop's guard
        # leaves.
        found = item_of(run, state)
        if self.item_to is not None:
            values[self.item_to] = found[1] if found else None
        if self.index_to is not None:
            values[self.index_to] = found[0] if found else None
        run.write(values)


def turn_of(run: Run, turn: str) -> int:
    """The number of the turn of a loop, from 1."""
    return run.snapshot.visits.get(turn, 0) - run.snapshot.loops.get(turn, 0)


def item_of(run: Run, turn: str) -> tuple[int, Json] | None:
    """The index and the item of the current turn; None after the last item."""
    items = run.snapshot.items.get(turn, ())
    # The state is entered once per turn, and once more to find that no item is left.
    index = turn_of(run, turn) - 1
    return (index, items[index]) if 0 <= index < len(items) else None


def loop_names(run: Run, state: str) -> Iterator[tuple[str, Json]]:
    """The variables of the loops around a state. Those of inner loops come later, and so take precedence."""
    for turn in run.structure.loops_around.get(state, ()):
        loop, found = run.structure.loops[turn], item_of(run, turn)
        # A loop that only counts has no names for its items.
        if found is not None and loop.item is not None and loop.index is not None:
            yield loop.index, found[0]
            yield loop.item, found[1]


def count_turns(run: Run, turn: str, state: str) -> None:
    """After the last turn of a loop, its count is the number of turns: the condition was evaluated once more."""
    effect = run.structure.steps.get(turn)
    loop = run.structure.loops.get(turn)
    if isinstance(effect, LoopTurn) and effect.count_to and loop is not None and state not in loop.inside:
        run.write({effect.count_to: turn_of(run, turn) - 1})


def end_loops(run: Run, state: str) -> None:
    """Forget the items of loops that the run has left by entering a state: by their end, a break or a jump."""
    nodes, items = run.structure.nodes, run.snapshot.items
    node = nodes[state]
    around = run.structure.loops_around.get(state, ())
    # A state of another parallel branch does not mean that a loop was left.
    gone = [
        turn
        for turn in items
        if turn != state and turn not in around and node.parent in nodes[turn].ancestors
    ]
    if not gone:
        return
    run.snapshot.items = {turn: found for turn, found in items.items() if turn not in gone}
    effects = [effect for turn in gone if isinstance(effect := run.structure.steps.get(turn), LoopTurn)]
    fields = [name for effect in effects for name in (effect.item_to, effect.index_to) if name]
    if fields:
        run.write(dict.fromkeys(fields))
