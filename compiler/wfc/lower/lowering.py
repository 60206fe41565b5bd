"""Build one chart. Steps add their states and edges here.

A step becomes one state, plus a state for each part: `when` decides whether the step runs, `retry` waits between two
attempts, `turn` is the condition of a loop, `gate` waits for other branches. Lowering is continuation-passing: a step
gets the id of the state that follows it (`after`) and leads its edges there, so that nothing is patched afterwards. Ids
of steps that come later are known from the start, because `Names` assigns the names of all steps first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from wfc.ir import FINISHED, OK, OTHERWISE, Edge, Effect, Guard, Make, Ref, Region, State
from wfc.language.steps.base import Fallible, Recovery, Retried, Step
from wfc.language.steps.protocol import Variables
from wfc.language.values import Text, Tree, Word, state_use
from wfc.lower.names import Names


class Lowering:
    """A chart under construction, with its states in source order. It implements `ChartBuilder`.

    Checks run on the charts of workflows with errors too, so no step is refused: a jump without a target leads to the
    step that follows.
    """

    end = FINISHED

    def __init__(self, steps: list[Step]) -> None:
        self._names = Names(steps)
        # Reversed, so that the first of several steps with the same name is the target; duplicates are reported.
        self._targets = {step.name: step for step in reversed(steps)}
        self.root = Region("running", "running")
        self._region = self.root
        self._loops: list[tuple[str, str]] = []
        self._named: dict[str, Variables] = {}
        self._inside: dict[str, list[str]] = {}
        self.deferred: list[str] = []
        """The states whose failure is deferred to the end of the run."""
        self.caught: dict[str, str] = {}
        """The states in branches whose failure a parallel step handles, each with the state that does."""

    # -- flow ------------------------------------------------------------------

    def block(self, steps: list[Step], after: str) -> None:
        for number, step in enumerate(steps):
            following = self.entry(steps[number + 1]) if number + 1 < len(steps) else after
            self._step(step, following)

    def entry_of(self, steps: list[Step], after: str) -> str:
        """The state at which a list of steps begins; for an empty list, the state after it."""
        return self.entry(steps[0]) if steps else after

    def entry(self, step: Step) -> str:
        # A jump to a step also evaluates its `when`.
        return self.part(step, "when") if step.when else self._names.of(step)

    def part(self, step: Step, part: str) -> str:
        """The id of a state that is part of a step."""
        return self._names.part(step, part)

    def target(self, name: Word | None, after: str) -> str:
        """The state that a jump leads to; the following one if there is no such step."""
        step = self._targets.get(name.text) if name else None
        return self.entry(step) if step else after

    def _step(self, step: Step, after: str) -> None:
        if step.when:
            choice = self.state(step, part="when")
            self.edge(choice, self._names.of(step), guard=self.guard(step, step.when))
            self.edge(choice, after, guard=OTHERWISE)
            # Evaluating `when` may fail as well, and the handler of the step applies to that. It is not retried.
            self._recovery(step, choice, after, part="when")
        step.lower(self, after)

    def alone(self, name: str, effect: str, arguments: dict[str, Any]) -> str:
        """Add a state that belongs to no step. Its name is free if `free_name` gave it."""
        self._region.states.append(State(name, name, name, effect=Effect(effect, lambda: arguments)))
        return name

    def free_name(self, name: str) -> str:
        return self._names.free(name)

    # -- what steps are made of ------------------------------------------------

    def state(
        self, step: Step, effect: Effect | None = None, part: str = "", regions: tuple[Region, ...] = ()
    ) -> str:
        name = self.part(step, part) if part else self._names.of(step)
        # A state is inside every loop around it.
        for turn, _ in self._loops if self._named else ():
            if turn in self._inside:
                self._inside[turn].append(name)
        self._region.states.append(
            State(
                id=name,
                title=step.name,
                kind=part or step.kind,
                # A gate only waits for other branches, regardless of its step.
                color="control" if part == "gate" else step.performer_color,
                effect=effect,
                # The description belongs to the step, and is shown once.
                note=step.description.text if step.description and not part else "",
                regions=regions,
                step=step,
            )
        )
        return name

    def edge(self, source: str, target: str, event: str | None = None, guard: Guard | None = None) -> None:
        self._region.edges.append(Edge(source, target, event, guard))

    def suspend(self, step: Step, effect: Effect, after: str, event: str) -> None:
        """Add a state that waits for an event from outside, and its edges after a failure."""
        name = self.state(step, effect)
        self.edge(name, after, event)
        self._failures(step, name, after)

    def perform(self, step: Step, effect: Effect, after: str, following: str = "") -> None:
        """Add a state that does its work at once. A failure leads to `following`, by default to the same state."""
        name = self.state(step, effect)
        self.edge(name, after, guard=OK)
        self._failures(step, name, following or after)

    def choose(self, step: Step, name: str, guard: Guard, then: str, otherwise: str, after: str) -> None:
        """Add the two edges of a condition, and the edges after a failure."""
        self.edge(name, then, guard=guard)
        self.edge(name, otherwise, guard=OTHERWISE)
        self._failures(step, name, after)

    def effect(
        self, name: str, step: Step, arguments: Callable[[], dict[str, Any]], keeps: bool = True
    ) -> Effect:
        retry = step.retry if isinstance(step, Retried) else None
        return Effect(
            name,
            # Evaluated when the arguments are needed, which is only for modules and pictures.
            lambda: {key: data(value) for key, value in arguments().items()},
            reads=reads(step),
            writes=_output(step) if keeps else None,
            retry={key: retry.setting(key) for key in retry.FIELDS if key in retry.values} if retry else None,
        )

    def guard(
        self, step: Step, condition: Text | None, most: int | None = None, leaves: bool = False
    ) -> Guard:
        if condition is None:
            return Guard("when", at_most=most, leaves=leaves)
        return Guard("when", condition.data, _fields_read(step, condition), most, leaves)

    def next_item(self, most: int | None) -> Guard:
        return Guard("next_item", at_most=most)

    def turn(self, fields: dict[str, str]) -> Effect | None:
        return Effect("LoopTurn", lambda: dict(fields)) if fields else None

    def guard_on(self, field: str) -> Guard:
        return Guard("when", f"{{{{ state.{field} }}}}", (field,))

    def at_most(self, most: int | None) -> Guard:
        return Guard("at_most", at_most=most)

    def begin(self, turn: Callable[[], str]) -> Effect:
        return Effect("Begin", lambda: {"loop": turn()})

    # -- failures --------------------------------------------------------------

    def _failures(self, step: Step, name: str, after: str) -> None:
        if isinstance(step, Retried) and step.retry:
            pause = self.state(step, Effect("Delay", lambda: {"step": name}), part="retry")
            self.edge(name, pause, "retry")
            # The pause leads back to the same state, which is then entered as a further attempt.
            self.edge(pause, name, "due")
        self._recovery(step, name, after)

    def _recovery(self, step: Step, name: str, after: str, part: str = "") -> None:
        handler = step.on_error if isinstance(step, Fallible) else None
        if isinstance(handler, Recovery):
            self.edge(name, self.target(handler.goto, after), "recover")
        elif handler is not None and handler.text != "fail":
            # `fail` is the default, and has no edge.
            self.edge(name, after, "recover")
            # The test of a step's condition has the step's name: the machine finds it by that.
            self.deferred += [name] if handler.text == "defer" and not part else []

    # -- loops and branches ----------------------------------------------------

    @contextmanager
    def loop(self, turn: str, after: str, variables: Variables | None = None) -> Iterator[None]:
        self._loops.append((turn, after))
        if variables is not None:
            self._named[turn] = variables
            self._inside[turn] = []
        yield
        self._loops.pop()

    @property
    def loops(self) -> dict[str, Make]:
        """The loops with variables, outer ones first."""
        return {
            turn: Make("LoopNames", {**one.names, "inside": tuple(self._inside[turn])})
            for turn, one in self._named.items()
        }

    def innermost_loop(self, after: str) -> tuple[str, str]:
        """The targets of `continue` and `break`; outside of a loop both are the following state."""
        return self._loops[-1] if self._loops else (after, after)

    def branches(
        self,
        step: Step,
        branches: Mapping[str, list[Step]],
        after: Mapping[str, tuple[str, ...]],
        winner: str = "",
    ) -> tuple[Region, ...]:
        """Lower each branch to its own region, which runs concurrently with the others until it ends.

        A branch in `after` begins when the branches that are listed for it have ended. With `winner`, a branch that
        reaches its end continues there, and the others are left.
        """
        # All names before any branch is lowered, because branches may wait for each other's ends.
        regions = {title: self._named_region(step, title) for title in branches}
        outer = self._region
        for title, steps in branches.items():
            region = self._region = regions[title]
            region.initial = self.entry_of(steps, region.end)
            # A state before the first step waits for the other branches. An empty branch has nothing to wait
            # with.
            if title in after and steps:
                gate = self.state(steps[0], part="gate")
                ends = tuple(regions[one].end for one in after[title])
                self.edge(gate, region.initial, guard=Guard("ended", reads=ends))
                region.initial = gate
            self.block(steps, winner or region.end)
        self._region = outer
        return tuple(regions.values())

    def join(self, step: Step, regions: tuple[Region, ...], after: str, at_once: bool) -> str:
        """Add the state that a parallel step ends in, and the edges of failures in its branches: to the end of the
        branch or, with `at_once`, out of all branches. Returns its id."""
        count = len(regions)
        failing = [(branch, region, state) for branch in regions for region, state in _failing(branch)]
        if not failing and not (isinstance(step, Fallible) and step.on_error):
            return after
        name = self.state(step, Effect("Join", lambda: {"branches": count}), part="join")
        self.edge(name, after, guard=OK)
        self._recovery(step, name, after)
        inside = {
            branch.id: {one.id for part in branch.regions() for one in part.states} | {branch.end}
            for branch in regions
        }
        for branch, region, state in failing:
            edge = Edge(state.id, name if at_once else branch.end, "recover")
            # Edges inside the branch come before those that leave it, as in the module.
            leaving = (
                n
                for n, one in enumerate(region.edges)
                if one.source == state.id and one.target not in inside[branch.id]
            )
            region.edges.insert(next(leaving, len(region.edges)), edge)
            self.caught[state.id] = name
        return name

    def _named_region(self, step: Step, title: str) -> Region:
        name = self._names.branch(step, title)
        return Region(name, title, end=self._names.free(f"{name}_end"))


def _failing(branch: Region) -> Iterator[tuple[Region, State]]:
    """The states of a branch whose failure is that of the branch. A step with its own `on_error` has been handled."""
    for region in branch.regions():
        handled = {edge.source for edge in region.edges if edge.event == "recover"}
        for state in region.states:
            if state.id not in handled and _can_fail(state, region):
                yield region, state


def _can_fail(state: State, region: Region) -> bool:
    if state.effect is not None:
        # These can't fail: they compute nothing.
        return state.effect.name not in ("Begin", "Delay", "Fail")
    guards = [edge.guard for edge in region.edges if edge.source == state.id and edge.guard]
    return any(guard.name in ("when", "at_most") for guard in guards)


def data(value: Any) -> Any:
    """A value of the AST as plain data for the generated module."""
    match value:
        case Text() | Tree():
            return value.data
        case type():
            # A TypedDict of the contract, which the generated module imports by its name.
            return Ref(value.__name__)
        case dict():
            return {key: data(item) for key, item in value.items()}
        case list():
            return [data(item) for item in value]
    return value


def reads(step: Step) -> tuple[str, ...]:
    """The fields that the effect of a step may read: those of `needs_state`, in order."""
    return tuple(dict.fromkeys(word.text for word in step.declared))


def _fields_read(step: Step, text: Text) -> tuple[str, ...]:
    """The declared fields that an expression reads: the guard of an edge lists only these."""
    use = state_use(text.template)
    return tuple(name for name in reads(step) if use.whole or name in use.fields)


def _output(step: Step) -> str | None:
    word = step.values.get("output_to")
    return word.text if word is not None else None
