"""The statechart between the AST and the Python source: states, edges, effects. `dump` prints it as text.

A module has a chart for the main steps and one for each task. A chart is a tree of regions; a region has states and
edges, and a parallel state contains one region per branch. An edge is taken on an event, or at once if it has none, and
only if its guard holds. An effect is the work of a state. The IR has no step types: the runtime, the picture and the
control-flow analyses know effects only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from wfc.caching import cached_property
from wfc.struct import struct

if TYPE_CHECKING:  # The IR only stores these as data, so it stays below the language.
    from wfc.language.shape import InputDecl
    from wfc.language.steps.base import Step
    from wfc.language.types import Type
    from wfc.yaml import Span

HANDLE, START_OVER = "handle_failure", "start_over"
"""The events of a run that has failed: its handler begins, or it starts over."""

BEGINS = ("Begin", "EachItem")
"""The effects that enter a loop."""

FINISHED = "finished"
"""The final state of the flow. A machine that reaches it has completed."""


@struct(frozen=True)
class Ref:
    """A name that the generated module imports or defines."""

    name: str


@struct(frozen=True)
class Make:
    """A value class of the runtime, with its arguments."""

    name: str
    arguments: dict[str, Any]


@struct
class Effect:
    """The work of a state when it is entered: an effect class of the runtime, with its arguments."""

    name: str
    make_arguments: Callable[[], dict[str, Any]]
    """Deferred, because only modules and pictures need the arguments; a check does not."""
    reads: tuple[str, ...] = ()
    writes: str | None = None
    retry: dict[str, Any] | None = None

    @cached_property
    def arguments(self) -> dict[str, Any]:
        return self.make_arguments()


def written_by(effect: Effect) -> list[str]:
    """The state fields that an effect may write, in order."""
    arguments = effect.arguments
    names: list[str] = []
    # Only these arguments hold changes of fields; the others are the data of actions.
    for key in ("updates", "changes", "error_changes"):
        for one in arguments.get(key) or ():
            names.append(str(one.arguments["path"][0]) if isinstance(one, Make) else one)
    names += [arguments[key] for key in ("count_to", "item_to", "index_to") if arguments.get(key)]
    return list(dict.fromkeys([*names, *([effect.writes] if effect.writes else [])]))


@struct(frozen=True)
class Guard:
    """A condition of an edge: `when` (an expression), `at_most` (a count), `ended` (branches), `next_item` (of a loop),
    `ok` or `otherwise`."""

    name: str
    text: Any = None
    reads: tuple[str, ...] = ()
    """The state fields that it reads; of `ended`, the ends of the branches."""
    at_most: int | None = None
    leaves: bool = False
    """Whether the condition is false after that many times; otherwise it fails."""


OK = Guard("ok")
OTHERWISE = Guard("otherwise")


@struct(eq=False)
class State:
    id: str
    title: str
    """The step's id as written."""
    kind: str
    """The step type, or the name of a part of the step: when, retry, turn."""
    color: str = "control"
    effect: Effect | None = None
    note: str = ""
    """The step's description."""
    regions: tuple[Region, ...] = ()
    step: Step | None = None
    """The step that it was made from, for findings that point at it."""

    @property
    def word(self) -> str:
        """The type of the step in its author's language, or the name of a part of the step."""
        is_whole = self.step is not None and self.kind == self.step.kind
        written = self.step.written_type if self.step is not None and is_whole else ""
        return f"{written} for_each" if written and self.kind == "foreach" else written or self.kind

    @property
    def line(self) -> int:
        """The line of the source at which the step begins."""
        return self.step.span.line if self.step else 0


@struct(frozen=True)
class Edge:
    source: str
    target: str
    event: str | None = None
    guard: Guard | None = None


@struct
class Region:
    """States in source order, and their edges. A branch of a parallel step is a region inside a state."""

    id: str
    title: str
    states: list[State] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    initial: str = ""
    end: str = FINISHED

    def walk(self) -> Iterator[State]:
        for state in self.states:
            yield state
            for region in state.regions:
                yield from region.walk()

    def regions(self) -> Iterator[Region]:
        yield self
        for state in self.states:
            for region in state.regions:
                yield from region.regions()


@struct(frozen=True, slots=True)
class FieldInfo:
    name: str
    type: Type
    initial: bool
    default: Any = None


@struct
class Chart:
    """One machine: the main steps of a workflow, or a task."""

    name: str
    title: str
    inputs: dict[str, InputDecl]
    description: str
    fields: list[FieldInfo]
    root: Region
    secrets: tuple[str, ...] = ()
    """Fields whose values are hidden wherever a run is shown."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Constants about the workflow, which a caller may ask for."""
    deferred: tuple[str, ...] = ()
    """States whose failure is deferred: the run continues, and fails at its end."""
    added: dict[str, str] = field(default_factory=dict)
    """States of steps that a dialect has added, with the step of the author's that each is part of."""
    budget: dict[str, Any] = field(default_factory=dict)
    """The budget of a run."""
    caught: dict[str, str] = field(default_factory=dict)
    """States in branches whose failure fails the parallel step around them, each with the state that joins it."""
    at_start: dict[str, Any] = field(default_factory=dict)
    """Fields that are computed once, at the start."""
    failing: Make | None = None
    """The handling of a failure, before the run ends."""
    handler: str = ""
    """The first state of the handler of failures."""
    starts_over: str = ""
    """The state that starts a failed run over."""
    time_limit: float | None = None
    internal: tuple[str, ...] = ()
    """Fields that are left out of the result."""
    loops: dict[str, Make] = field(default_factory=dict)
    """Loops with variables, by the state of their turns, outer ones first."""
    derived: dict[str, Make] = field(default_factory=dict)
    """Fields that are computed whenever one that they read changes, in the order of their dependencies."""
    derived_spans: dict[str, Span] = field(default_factory=dict)
    """The place of each derived field in the source."""
    expressions: str = "jinja"
    """The language of its expressions."""

    def states(self) -> Iterator[State]:
        return self.root.walk()

    def edges(self) -> Iterator[Edge]:
        for region in self.root.regions():
            yield from region.edges


@struct
class Module:
    """The charts of one file, and the metadata of its workflow."""

    name: str
    version: str
    description: str
    main: Chart
    tasks: dict[str, Chart]
    tags: tuple[str, ...] = ()
    author: str = ""
    on_failure: str = ""

    @property
    def charts(self) -> list[Chart]:
        return [self.main, *self.tasks.values()]

    @property
    def lines(self) -> dict[str, dict[str, int]]:
        """The line of the source of each state, by machine, and of each derived field as `derived.<name>`."""
        home = next((state.step.span.source for state in self.main.states() if state.step), None)
        return {
            # An imported step has no line in this file, and a state that ends a handler or starts over has none at all.
            chart.title: {
                state.id: state.line
                for state in chart.states()
                if state.step is not None and state.step.span.source is home
            }
            | {
                f"derived.{name}": span.line
                for name, span in chart.derived_spans.items()
                if span.source is home
            }
            for chart in self.charts
        }


# Without positions, so that tests and fixes can compare two sources by what they mean.
def dump(module: Module, but_for: Collection[str] = ()) -> str:
    """The IR as text, without positions: equivalent sources give the same text.

    The steps in `but_for` are listed without their effects.
    """
    lines = [f"workflow {module.name} {module.version}"]
    for chart in module.charts:
        lines += ["", f"chart {chart.name}"]
        lines += [
            f"  input {name}: {decl.read_type}{' secret' if decl.holds_secret() else ''}"
            for name, decl in chart.inputs.items()
        ]
        for info in chart.fields:
            start = f" = {json.dumps(info.default, ensure_ascii=False)}" if info.initial else ""
            lines.append(f"  field {info.name}: {info.type}{start}")
        lines += [f"  at start {name} = {_dump_value(value)}" for name, value in chart.at_start.items()]
        lines += [f"  derived {name} = {_dump_value(one)}" for name, one in chart.derived.items()]
        if chart.expressions != "jinja":
            lines.append(f"  expressions {chart.expressions}")
        if chart.failing is not None:
            lines.append(f"  failing {_dump_value(chart.failing)}")
        lines += [f"  handler {chart.handler}"] if chart.handler else []
        lines += [f"  time limit {chart.time_limit}"] if chart.time_limit is not None else []
        lines += [f"  internal {name}" for name in chart.internal]
        lines += [f"  loop {name} = {_dump_value(one)}" for name, one in chart.loops.items()]
        lines += [f"  budget {kind} {most}" for kind, most in chart.budget.items()]
        lines += [f"  deferred {name}" for name in chart.deferred]
        lines += [f"  caught {name} by {join}" for name, join in chart.caught.items()]
        lines += _dump_region(chart.root, "  ", but_for)
    return "\n".join(lines) + "\n"


def _dump_region(region: Region, indent: str, but_for: Collection[str]) -> Iterator[str]:
    # Only fixes need this, so nothing is collected for the usual dump.
    masked = (
        {state.id for state in region.states if state.step and state.step.name in but_for} if but_for else ()
    )
    for state in region.states:
        yield f"{indent}state {state.id} ({state.kind})"
        if state.effect and state.id not in masked:
            yield f"{indent}  {_dump_effect(state.effect)}"
        for inner in state.regions:
            yield f"{indent}  region {inner.id}"
            yield from _dump_region(inner, indent + "    ", but_for)
    for edge in region.edges:
        event = f" on {edge.event}" if edge.event else ""
        guard = "" if edge.source in masked else _dump_guard(edge.guard)
        yield f"{indent}{edge.source} -> {edge.target}{event}{guard}"


def _dump_effect(effect: Effect) -> str:
    parts = [f"{key}={_dump_value(value)}" for key, value in effect.arguments.items() if value is not None]
    if effect.reads:
        parts.append(f"reads={','.join(effect.reads)}")
    if effect.writes:
        parts.append(f"writes={effect.writes}")
    if effect.retry:
        parts.append(f"retry={json.dumps(effect.retry)}")
    return f"{effect.name}({', '.join(parts)})"


def _dump_guard(guard: Guard | None) -> str:
    if guard is None:
        return ""
    if guard.name in ("ok", "otherwise"):
        return f" if {guard.name}"
    most = f" {'up to' if guard.leaves else 'at most'} {guard.at_most}" if guard.at_most is not None else ""
    if guard.name == "next_item":
        return f" if next item{most}"
    return f" if{' ' + _dump_value(guard.text) if guard.text is not None else ''}{most}"


def _dump_value(value: Any) -> str:
    match value:
        case Ref():
            return value.name
        case Make():
            parts = (f"{key}={_dump_value(one)}" for key, one in value.arguments.items())
            return f"{value.name}({', '.join(parts)})"
        case tuple():
            return f"({', '.join(map(_dump_value, value))})"
    return json.dumps(value, ensure_ascii=False, default=str)


# The order of steps in a language where dependencies give it. The charts have it too; pictures show it as written.


@struct(frozen=True)
class Dependency:
    """A step waits for another one."""

    step: str
    required: bool
    """Whether the other one must have succeeded; otherwise it must only have ended."""


@struct(frozen=True)
class Vertex:
    """A step in a graph of dependencies."""

    waits: tuple[Dependency, ...]
    condition: str = ""
    """The author's condition, as written."""
    inputs: dict[str, Any] = field(default_factory=dict)
    """The value as the author wrote it."""
    reads: tuple[str, ...] = ()
    """Steps whose results it reads without waiting for them explicitly: it begins after these as well."""
