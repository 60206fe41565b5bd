"""One machine as a class: the chart first, then the effect of each state.

The flow of a workflow is what a reviewer reads, so states and edges come first and together, in source order. The
class uses the syntax of python-statemachine: nested classes for regions, and `source.to(target, ...)` for edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.emit.printer import WIDTH, Call, Tuple, docstring, print_assignment, print_class, print_value, width
from wfc.ir import HANDLE, START_OVER, Chart, Edge, Effect, Guard, Make, Ref, Region, State, written_by

_ENDINGS = """\
    completed = State("completed", final=True)
    failed = State("failed", final=True)
    cancelled = State("cancelled", final=True)

{done}
    fail = running.to(failed)
    cancel = running.to(cancelled)"""
_DONE = "    done_state_running = running.to(completed)"
_DONE_OR_FAILED = """\
    done_state_running = running.to(completed, cond=faultless)
    running.to(failed, event="done.state.running")"""


class ChartWriter:
    """Writes a chart's class and collects the names that it uses."""

    def __init__(self, chart: Chart, inputs: str, fields: str) -> None:
        self.chart = chart
        self.inputs = inputs
        self.fields = fields
        self.runtime = {"Machine", "State"}
        self.contract: set[str] = set()
        # Edges are written relative to the class body that contains both ends.
        self._paths = dict(_paths(chart.root, ()))

    def write(self) -> str:
        lines = [print_class(self.chart.name, (Ref(f"Machine[{self.inputs}, {self.fields}]"),), {}, 0)]
        lines += docstring(self.chart.description, 1)
        if len(lines) > 1:
            lines.append("")
        lines += [f"    inputs = {self.inputs}", f"    fields = {self.fields}"]
        if self.chart.expressions != "jinja":
            lines.append(print_assignment("expressions", self.chart.expressions, 1))
        initial = {field.name: field.default for field in self.chart.fields if field.initial}
        if initial:
            lines.append(print_assignment("initial", initial, 1))
        if self.chart.at_start:
            lines.append(print_assignment("at_start", self.chart.at_start, 1))
        if self.chart.failing is not None:
            lines.append(print_assignment("failing", self._plain(self.chart.failing), 1))
        if self.chart.time_limit is not None:
            lines.append(print_assignment("time_limit", self.chart.time_limit, 1))
        if self.chart.internal:
            lines.append(print_assignment("internal", Tuple(self.chart.internal), 1))
        if self.chart.loops:
            lines.append(print_assignment("loops", self._plain(self.chart.loops), 1))
        if self.chart.derived:
            lines.append(print_assignment("derived", self._plain(self.chart.derived), 1))
        if self.chart.secrets:
            lines.append(print_assignment("secrets", Tuple(self.chart.secrets), 1))
        if self.chart.facts:
            lines.append(print_assignment("facts", self.chart.facts, 1))
        if self.chart.budget:
            lines.append(print_assignment("budget", self.chart.budget, 1))
        if self.chart.added:
            lines.append(print_assignment("added", self.chart.added, 1))
        if self.chart.deferred:
            lines.append(print_assignment("deferred", Tuple(self.chart.deferred), 1))
        if self.chart.caught:
            lines.append(print_assignment("caught", self.chart.caught, 1))
        lines += ["", *self._region(self.chart.root, 1), "", self._endings(), *self._steps()]
        return "\n".join(lines)

    def _endings(self) -> str:
        done = _DONE
        if self.chart.deferred:
            self.runtime.add("faultless")
            done = _DONE_OR_FAILED
        # These edges lead into the chart, and so can't be inside it.
        before = [(self.chart.handler, HANDLE), (self.chart.starts_over, START_OVER)]
        lines = [
            "    " + print_value(Call("running.to", (Ref(f"running.{state}"),), {"event": event}), 1, 0)
            for state, event in before
            if state
        ]
        return "\n".join([_ENDINGS.format(done=done), *lines])

    # -- the chart -------------------------------------------------------------

    def _region(self, region: Region, indent: int) -> list[str]:
        title = {} if region.id == region.title else {"name": region.title}
        lines = [print_class(region.id, (Ref("State.Compound"),), title, indent)]
        for state in region.states:
            if state.regions:
                # An empty line before a nested class, but not at the start of a body.
                gap = [""] if len(lines) > 1 and lines[-1] else []
                lines += [*gap, *self._parallel(state, indent + 1)]
            else:
                lines += _state(state, region, indent + 1)
        end = Call("State", (region.end,), {"final": True})
        lines.append(print_assignment(region.end, end, indent + 1))
        level = self._level(region)
        edges = [self._edge(edge, level, indent + 1) for edge in self._edges_at(region)]
        return [*lines, "", *edges] if edges else lines

    def _parallel(self, state: State, indent: int) -> list[str]:
        lines = [print_class(state.id, (Ref("State.Parallel"),), {"name": state.title}, indent)]
        for number, region in enumerate(state.regions):
            lines += ([""] if number else []) + self._region(region, indent + 1)
        return [*lines, ""]

    def _edges_at(self, region: Region) -> list[Edge]:
        """The edges for which the body of this region is the innermost one that contains both ends."""
        level = self._level(region)
        return [
            edge
            for inner in region.regions()
            for edge in inner.edges
            # An edge out of a branch is written in the body around the parallel state.
            if _common(self._paths[edge.source], self._paths[edge.target]) == level
        ]

    # The final state is in the body of its region, so its path without the last name is that of the body.
    def _level(self, region: Region) -> tuple[str, ...]:
        return self._paths[region.end][:-1]

    def _edge(self, edge: Edge, level: tuple[str, ...], indent: int) -> str:
        source = ".".join(self._paths[edge.source][len(level) :])
        target = Ref(".".join(self._paths[edge.target][len(level) :]))
        keywords: dict[str, Any] = {}
        # The library finds the edge that leaves a parallel state by the name of the attribute that it is assigned to.
        done = edge.event is not None and edge.event.startswith("done_state_")
        if edge.event and not done:
            keywords["event"] = edge.event
        # In a branch, an event is sent to one of several active states: the guard tells whether to this one.
        guard = self._guard(edge, addressed=len(self._paths[edge.source]) > 1 and not done)
        if guard is not None:
            keywords["cond"] = guard
        call = Call(f"{source}.to", (target,), keywords)
        if done:
            return print_assignment(str(edge.event), call, indent)
        return "    " * indent + print_value(call, indent, 0)

    def _guard(self, edge: Edge, addressed: bool) -> Any:
        guard = edge.guard
        # `ok` is the default of an edge without an event, and a module never repeats a default.
        if guard is None or (guard.name == "ok" and not edge.event):
            return "addressed" if edge.event and addressed else None
        self.runtime.add(guard.name)
        if guard.name in ("ok", "otherwise"):
            return Ref(guard.name)
        return _guard_call(guard)

    # -- what the states do ----------------------------------------------------

    def _steps(self) -> list[str]:
        effects = {state.id: self._effect(state.effect) for state in self.chart.states() if state.effect}
        if not effects:
            return []
        return ["", print_assignment("steps", effects, 1)]

    def _effect(self, effect: Effect) -> Call:
        self.runtime.add(effect.name)
        arguments = {key: value for key, value in effect.arguments.items() if value is not None}
        # Result types are imported from the contract.
        self.contract |= {value.name for value in arguments.values() if isinstance(value, Ref)}
        arguments = {key: self._plain(value) for key, value in arguments.items()}
        if effect.reads:
            arguments["reads"] = Tuple(effect.reads)
        if effect.writes:
            arguments["writes"] = effect.writes
        if effect.retry:
            self.runtime.add("Retry")
            arguments["retry"] = Call("Retry", (), effect.retry)
        return Call(effect.name, (), arguments)

    def _plain(self, value: Any) -> Any:
        """A value as the printer takes it. Value classes of the runtime are imported."""
        match value:
            case Make():
                self.runtime.add(value.name)
                return Call(value.name, (), {key: self._plain(one) for key, one in value.arguments.items()})
            case tuple():
                return Tuple(tuple(map(self._plain, value)))
            case dict():
                return {key: self._plain(one) for key, one in value.items()}
        return value


def _state(state: State, region: Region, indent: int) -> list[str]:
    pad, comment = "    " * indent, _comment(state)
    keywords = {"initial": True} if state.id == region.initial else {}
    text = print_assignment(state.id, Call("State", (state.title,), keywords), indent)
    line = f"{text}  # {comment}"
    # A comment that would make the line too long goes above it.
    return [line] if width(line) <= WIDTH and "\n" not in text else [f"{pad}# {comment}", text]


def _guard_call(guard: Guard) -> Call:
    if guard.name == "at_most":
        return Call("at_most", (guard.at_most,))
    if guard.name == "ended":
        return Call("ended", guard.reads)
    most = {"up_to" if guard.leaves else "at_most": guard.at_most} if guard.at_most is not None else {}
    if guard.name == "next_item":
        return Call("next_item", (), most)
    return Call("when", (guard.text, *guard.reads), most)


def _comment(state: State) -> str:
    """The comment of a state: the type of the step, its task, workflow, tool or agent, and the field it writes."""
    effect = state.effect
    if effect is None:
        return state.word
    arguments = effect.arguments
    parameters = arguments.get("parameters") or {}
    who = (
        arguments.get("task")
        or arguments.get("workflow")
        or parameters.get("tool")
        or parameters.get("agent")
    )
    # A set_state that also keeps all of its values lists them only.
    writes = ", ".join(arguments["updates"]) if state.kind == "set_state" else ", ".join(written_by(effect))
    return (
        state.word
        + (f" {who}" if who and state.kind != "retry" else "")
        + (f" -> {writes}" if writes else "")
    )


def _paths(region: Region, path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The path to each state through the nested class bodies."""
    yield region.end, (*path, region.end)
    for state in region.states:
        yield state.id, (*path, state.id)
        for inner in state.regions:
            yield from _paths(inner, (*path, state.id, inner.id))


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The path of the innermost body that contains both states."""
    shared = 0
    for left, right in zip(one[:-1], other[:-1], strict=False):
        if left != right:
            break
        shared += 1
    # The class body of a parallel state contains regions and no edges: use the body around it.
    return one[: shared - shared % 2]
