"""The interface between steps and the rest of the compiler.

Analyses, checks and editors never test for a step's class: they ask the step. `Child`, `Bindings` and `Decision` are
the answers that take more than one value; the questions themselves are methods of `Step`. Lowering goes the other way:
`Step.lower` gets a `ChartBuilder` and adds its states and edges to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from wfc.language.values import Text, Tree, Word
from wfc.struct import struct

if TYPE_CHECKING:  # Steps pass parts of the IR on and never look inside: they need no import of it.
    from wfc.ir import Effect, Guard, Region
    from wfc.language.steps.base import Step

# Names that a step which runs a task once per item gives to each of its children.

PREVIOUS = "previous"
CHILD = frozenset({"item", "index"})
NUMBERED = frozenset({"total", "task_id"})
CHILD_IN_TURN = CHILD | {PREVIOUS}
"""The names of children that run one after the other: they also see the results so far."""


@struct(frozen=True, eq=False)
class Child:
    """The runs that a step starts: one of another workflow, or one of a task for each item of a list."""

    step: Step
    field: str
    """The field that names the task or workflow."""
    name: Word | None
    """None if that field is missing or can't be read."""
    inputs: dict[str, Tree] | None
    """The `with`; None if there is none."""
    is_task: bool = False
    """Whether it is a task of the same file; otherwise it is a workflow of the project."""
    items: Tree | None = None
    """The list, of which each item starts one run of the task."""
    is_bounded: bool = False
    """Whether the step limits the number of items."""
    sequential: bool = False
    numbered: bool = False
    """Whether the children know how many they are, and have their own id."""
    shares: tuple[Word, ...] = ()
    """The fields of the parent that the children work on."""
    agent: str | None = None
    """The agent that works the runs; None for the one that works the step itself."""
    max_depth: int = 0
    """The nesting depth that the step allows; 0 if the project's setting applies."""
    is_lenient: bool = False
    """Whether values that the child has no input for are left out instead of refused."""
    facts: tuple[Word, ...] = ()
    """The facts of the called workflow that are added to its result."""
    among: tuple[str, ...] = ()
    """The names that a computed name may be; `*` in them stands for any characters."""

    @property
    def is_brief(self) -> bool:
        """Whether a named agent gets the whole task as one text. It follows no steps, and its result is unknown."""
        return self.agent not in (None, "@task")

    @property
    def names(self) -> frozenset[str]:
        """The names that the child has in addition to `state` and `inputs`."""
        if not self.is_task:
            return frozenset()
        return (CHILD_IN_TURN if self.sequential else CHILD) | (NUMBERED if self.numbered else frozenset())


@struct(frozen=True)
class Bindings:
    """A mapping of a step in which templates may use more names than in its other fields."""

    field: str
    values: dict[str, Tree]
    in_order: bool = False
    """Whether each value may use the keys before it. Otherwise all may use the names of the step's child."""


@struct(frozen=True, eq=False)
class Variables:
    """The names that a loop gives to the steps inside it."""

    item: str | None = None
    index: str | None = None
    items: Tree | None = None
    """The list that it goes over."""

    @property
    def names(self) -> dict[str, str]:
        return {"item": self.item, "index": self.index} if self.item and self.index else {}


@struct(frozen=True)
class Decision:
    """A condition that a step evaluates, and the steps that run after either outcome."""

    condition: Text | None
    then: list[Step]
    otherwise: list[Step]
    field: str = "if"
    """The field that holds the condition."""


class ChartBuilder(Protocol):
    """The chart under construction, as `Step.lower` sees it. `wfc.lower.Lowering` implements it."""

    @property
    def end(self) -> str:
        """The final state of the chart."""
        ...

    # -- the flow between steps

    def block(self, steps: list[Step], after: str) -> None:
        """Lower a list of steps; `after` is the state that follows the last one."""

    def entry_of(self, steps: list[Step], after: str) -> str:
        """The state at which a list of steps begins; `after` if it is empty."""
        ...

    def target(self, name: Word | None, after: str) -> str:
        """The state at which the step of that name begins; `after` if there is no such step."""
        ...

    def part(self, step: Step, part: str) -> str:
        """The id of the state that is a named part of a step."""
        ...

    def loop(self, turn: str, after: str, variables: Variables | None = None) -> AbstractContextManager[None]:
        """Steps lowered inside are the body of a loop: `continue` leads to `turn` and `break` to `after`."""
        ...

    def innermost_loop(self, after: str) -> tuple[str, str]:
        """Where `continue` and `break` lead; both to `after` outside of a loop."""
        ...

    def branches(
        self,
        step: Step,
        branches: Mapping[str, list[Step]],
        after: Mapping[str, tuple[str, ...]],
        winner: str = "",
    ) -> tuple[Region, ...]:
        """Regions that run concurrently. A branch in `after` begins when those listed for it have ended. With
        `winner`, the first branch to end continues there, and the others are left."""
        ...

    def join(self, step: Step, regions: tuple[Region, ...], after: str, at_once: bool) -> str:
        """Add the state that fails the step if branches failed, with the edges that lead to it, and return its id."""
        ...

    # -- states and edges

    def state(
        self, step: Step, effect: Effect | None = None, part: str = "", regions: tuple[Region, ...] = ()
    ) -> str:
        """Add a state of the step, or of a named part of it, and return its id."""
        ...

    def edge(self, source: str, target: str, event: str | None = None, guard: Guard | None = None) -> None:
        """Add an edge that is taken on an event, or at once."""

    def suspend(self, step: Step, effect: Effect, after: str, event: str) -> None:
        """Add a state that waits for an event from outside, with the edges taken after a failure."""

    def perform(self, step: Step, effect: Effect, after: str, following: str = "") -> None:
        """Add a state that does its work at once; a failure leads to `following`, by default `after`."""

    def choose(self, step: Step, name: str, guard: Guard, then: str, otherwise: str, after: str) -> None:
        """Add two edges to a state that waits for nothing, and those taken after a failure."""

    # -- effects and guards

    def effect(
        self, name: str, step: Step, arguments: Callable[[], dict[str, Any]], keeps: bool = True
    ) -> Effect:
        """An effect of the runtime. Its result goes to `output_to` of the step if it `keeps` one."""
        ...

    def begin(self, turn: Callable[[], str]) -> Effect:
        """The effect that sets the count of a loop's turns to zero; `turn` is the state that counts."""
        ...

    def turn(self, fields: dict[str, str]) -> Effect | None:
        """The effect that begins a turn of a loop and writes its number, item or index; None without fields."""
        ...

    def guard(
        self, step: Step, condition: Text | None, most: int | None = None, leaves: bool = False
    ) -> Guard:
        """A condition of the step, which may hold at most `most` times; then it fails or, if it `leaves`, is false."""
        ...

    def next_item(self, most: int | None) -> Guard:
        """A guard of a loop over a list: there is another item."""
        ...

    def guard_on(self, field: str) -> Guard:
        """The truth of a state field."""
        ...

    def at_most(self, most: int | None) -> Guard:
        """A guard that counts: it holds this many times in a run."""
        ...
