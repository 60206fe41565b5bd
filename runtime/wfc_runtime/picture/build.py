"""Build the flow of a chart: states that are only parts of a step become labels and badges.

A chart comes from the compiler's IR or from a machine that is loaded; both have the form of the protocols here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from wfc_runtime.contract import UNNAMED_ERROR
from wfc_runtime.picture.model import Flow, Line, Link, Node, Shape
from wfc_runtime.picture.text import show, show_condition

# The form of a chart.

FINISHED = "finished"
"""The final state of a chart."""


class Work(Protocol):
    """The effect of a state: its class, and the arguments that differ from the defaults."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> Mapping[str, Any]: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def writes(self) -> str | None: ...
    @property
    def retry(self) -> Mapping[str, Any] | None: ...


class Guard(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> Any: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def at_most(self) -> int | None: ...


class Edge(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def event(self) -> str | None: ...
    @property
    def guard(self) -> Guard | None: ...


class Step(Protocol):
    """A state."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def word(self) -> str: ...
    @property
    def color(self) -> str: ...
    @property
    def effect(self) -> Work | None: ...
    @property
    def note(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def regions(self) -> Sequence[RegionData]: ...


class RegionData(Protocol):
    @property
    def title(self) -> str: ...
    @property
    def states(self) -> Sequence[Step]: ...
    @property
    def edges(self) -> Sequence[Edge]: ...
    @property
    def initial(self) -> str: ...
    @property
    def end(self) -> str: ...


class ChartData(Protocol):
    @property
    def root(self) -> RegionData: ...
    @property
    def handler(self) -> str:
        """The first state of the handler of failures; "" if there is none."""
        ...

    @property
    def caught(self) -> Mapping[str, str]:
        """The states in branches whose failure leads to the end of the parallel step, each with the state there."""
        ...

    def states(self) -> Iterable[Step]: ...


# Labels: the text in nodes and on links.

ON_ERROR = "on error"
TIP_WIDTH = 140
# Internals that mean nothing to a reader, or that are shown elsewhere.
_UNSAID = ("kind", "instruction", "result", "where", "loop", "step", "keeps_failed", "fallback")
_CHANGING = ("updates", "changes", "error_changes")
"""Arguments that hold changes of fields; the fields are listed as written."""


def detail_of(state: Step, outs: list[Edge]) -> str:
    """The condition of a choice; for other steps the kind, the subject and the field written."""
    effect = state.effect
    if _guard(outs) is not None:
        return show_condition(_condition(state, outs))
    who = who_of(effect) if effect else ""
    writes = _writes(effect) if effect else ()
    said = who or (_ending(effect) if effect else "")
    text = state.word + (f" {said}" if said else "")
    return text + (f" → {_listed(writes)}" if writes else "")


def _ending(effect: Work) -> str:
    """The key that distinguishes one end of the run from another."""
    if effect.name == "Handled":
        return "and still failed"
    if effect.name == "Fail":
        return show(effect.arguments.get("code", UNNAMED_ERROR), 60)
    return returned(effect.arguments.get("value")) if effect.name == "Return" else ""


def returned(value: Any) -> str:
    """The key that distinguishes one return from another: the words and numbers in its value, not computed parts."""
    if isinstance(value, Mapping):
        fixed = [f"{key}: {one}" for key, one in value.items() if _is_fixed(one)]
        return show(", ".join(fixed[:2]), 90)
    return show(value, 60) if _is_fixed(value) else ""


def _is_fixed(value: Any) -> bool:
    if isinstance(value, str):
        # A computed value differs from run to run, so it does not identify a return.
        return bool(value) and "{" not in value and len(value) <= 40
    return isinstance(value, (bool, int, float))


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 3 else (*names[:2], f"+{len(names) - 2}")
    return show(", ".join(shown), 80)


def badge_of(state: Step) -> str:
    retry = state.effect.retry if state.effect else None
    attempts = retry.get("max_attempts") if retry else None
    if not attempts:
        return ""
    return "1 try" if attempts == 1 else f"{attempts} tries"


def link_label(edge: Edge, outs: list[Edge], back: bool) -> str:
    guard = edge.guard
    if edge.event == "recover":
        # The recovery of a `goto` is what follows when its jumps are used up.
        counted = any(other.guard and other.guard.name == "at_most" for other in outs)
        return "used up" if counted else ON_ERROR
    if guard is None or guard.name == "ok":
        return ""
    if guard.name == "otherwise":
        return "then" if any(other.guard and other.guard.name == "next_item" for other in outs) else "no"
    most = f"at most {guard.at_most}" if guard.at_most is not None else ""
    if guard.name == "next_item":
        return f"each item, {most}" if most else "each item"
    if guard.name == "when":
        return f"yes, {most}" if most else "yes"
    if back:
        return f"again, {most}" if most else "again"
    return most if guard.at_most != 1 else ""


def tip_of(step: Step, state: Step, outs: list[Edge]) -> tuple[str, ...]:
    """A summary of a step in a few lines. `state` may be only a part of it."""
    lines = heading_of(step, state.word if step is state else step.word)
    guard = _guard(outs)
    effect = state.effect
    reads = dict.fromkeys((*(effect.reads if effect else ()), *(guard.reads if guard else ())))
    if reads:
        lines.append(f"reads: {show(', '.join(reads), TIP_WIDTH)}")
    if effect and (writes := _writes(effect)):
        lines.append(f"writes: {show(', '.join(writes), TIP_WIDTH)}")
    if guard:
        lines.append(f"if: {show(_condition(state, outs), TIP_WIDTH)}")
    elif effect:
        lines += [f"{key}: {show(value, TIP_WIDTH)}" for key, value in _arguments(effect)]
    return tuple(lines)


def heading_of(step: Step, kind: str) -> list[str]:
    """The first lines of a tooltip."""
    title = f"{show(step.title, TIP_WIDTH)} ({kind}), line {step.line}"
    return [title, show(step.note, TIP_WIDTH)] if step.note else [title]


def _guard(outs: list[Edge]) -> Guard | None:
    return next((edge.guard for edge in outs if edge.guard and edge.guard.name == "when"), None)


def _condition(state: Step, outs: list[Edge]) -> Any:
    """A choice that stores its value tests the stored field, so its condition is the stored expression."""
    guard = _guard(outs)
    updates = state.effect.arguments.get("updates") if state.effect else None
    # A choice with one update stores its condition, and its edges test the stored field.
    if isinstance(updates, dict) and len(updates) == 1:
        return next(iter(updates.values()))
    return guard.text if guard and guard.text is not None else ""


def who_of(effect: Work) -> str:
    """The task, workflow, tool, agent, kind of answer or time of a step."""
    arguments = effect.arguments
    parameters = arguments.get("parameters") or {}
    for value in (
        arguments.get("task"),
        arguments.get("workflow"),
        *map(parameters.get, ("tool", "agent", "prompt_type")),
    ):
        if value:
            return show(value, 60)
    seconds = arguments.get("wait_seconds")
    return f"{show(seconds, 20)} s" if seconds is not None else ""


def _writes(effect: Work) -> tuple[str, ...]:
    arguments = effect.arguments
    updates = arguments.get("updates") or ()
    names = list(updates) if isinstance(updates, dict) else [_changed(one) for one in updates]
    names += [_changed(one) for key in ("changes", "error_changes") for one in arguments.get(key) or ()]
    names += [str(arguments[key]) for key in ("count_to", "item_to", "index_to") if arguments.get(key)]
    return tuple(dict.fromkeys([*names, *([effect.writes] if effect.writes else [])]))


def _changed(update: Any) -> str:
    """The field that an update changes: one of a module, or of the IR."""
    # The IR has the arguments of a call, a loaded module has the object.
    path = update.path if hasattr(update, "path") else update.arguments["path"]
    return str(path[0])


def _arguments(effect: Work) -> Iterator[tuple[str, Any]]:
    for key, value in effect.arguments.items():
        if value is None or key in _UNSAID or (key in _CHANGING and not isinstance(value, dict)):
            continue
        if key in ("parameters", "updates") and isinstance(value, dict):
            yield from ((name, item) for name, item in value.items() if item is not None)
        else:
            yield key.replace("_", " "), value
    if effect.retry:
        yield "retry", ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in effect.retry.items())


# The flow.


class Builder:
    """One chart on its way to a flow."""

    def __init__(self, chart: ChartData) -> None:
        self._chart = chart
        self._titles = {state.id: state.title for state in chart.states()}
        self._taken = {FINISHED, *self._titles}
        begins = {
            str(state.effect.arguments.get("loop")): state
            for state in chart.states()
            if state.effect and state.effect.name in ("Begin", "EachItem")
        }
        self._loops = {turn: state for turn, state in begins.items() if turn in self._titles}
        self._aliases = {state.id: turn for turn, state in self._loops.items()}
        # A gate waits for what its step depends on: the step stands for both.
        regions = [chart.root, *(region for state in chart.states() for region in state.regions)]
        edges = [edge for region in regions for edge in region.edges]
        for edge in edges:
            if edge.guard is not None and edge.guard.name == "ended":
                self._aliases[edge.source] = edge.target
        # A parallel step without a handler only ends there: the frame shows that, and needs no further node.
        handled = {edge.source for edge in edges if edge.event == "recover"}
        plain = set(chart.caught.values()) - handled
        for edge in edges:
            if edge.source in plain:
                self._aliases[edge.source] = self._aliases.get(edge.target, edge.target)
        self._unhandled = {state for state, join in chart.caught.items() if join in plain}
        self._pauses = {state.id for state in chart.states() if state.effect and state.effect.name == "Delay"}

    def root(self) -> Flow:
        root = self._chart.root
        start = Node(self.free("start"), Shape.START, stands_for="")
        flow = self._flow(root, Shape.END)
        flow.nodes.insert(0, start)
        flow.links.insert(0, Link(start.id, self._aliases.get(root.initial, root.initial)))
        if self._chart.handler:
            self._add_handler(flow, self._chart.handler)
        return _pruned(flow)

    def _add_handler(self, flow: Flow, first: str) -> None:
        """Any step may lead to the handler: one node stands for all of them."""
        target = self._aliases.get(first, first)
        place = next((at for at, node in enumerate(flow.nodes) if node.id == target), len(flow.nodes))
        source = Node(self.free("failure"), Shape.EXIT, "a step fails", stands_for="failure")
        flow.nodes.insert(place, source)
        flow.links.append(Link(source.id, target, "", Line.ERROR))

    def _flow(self, region: RegionData, end: Shape) -> Flow:
        order = {state.id: number for number, state in enumerate(region.states)}
        edges: dict[str, list[Edge]] = {}
        for edge in region.edges:
            edges.setdefault(edge.source, []).append(edge)
        flow = Flow(region.title)
        for state in region.states:
            if state.id in self._aliases or state.id in self._pauses:
                continue
            # A retry is a badge of its step, and not a line.
            outs = [
                edge
                for edge in edges.get(state.id, [])
                if edge.target not in self._pauses
                and not (edge.event == "recover" and state.id in self._unhandled)
            ]
            flow.nodes.append(self._node(state, outs))
            for edge in outs:
                flow.links.append(self._link(flow, edge, state, outs, order, region))
        flow.nodes.append(Node(region.end, end))
        flow.links = list(merged(flow.links))
        return flow

    # -- nodes -----------------------------------------------------------------

    def _node(self, state: Step, outs: list[Edge]) -> Node:
        whole = self._loops.get(state.id, state)
        shape = _shape(state, outs)
        return Node(
            state.id,
            shape,
            # The name would repeat that of the step which it belongs to.
            state.title if state.kind != "when" else "",
            detail_of(state, outs),
            "control" if shape is Shape.CHOICE else state.color,
            badge_of(state),
            tip_of(whole, state, outs),
            loop=state.id in self._loops,
            branches=tuple(_pruned(self._flow(region, Shape.JOIN)) for region in state.regions),
        )

    def free(self, name: str) -> str:
        """An id that no state has."""
        made, number = name, 1
        while made in self._taken:
            number += 1
            made = f"{name}_{number}"
        self._taken.add(made)
        return made

    # -- links -----------------------------------------------------------------

    def _link(
        self, flow: Flow, edge: Edge, state: Step, outs: list[Edge], order: dict[str, int], region: RegionData
    ) -> Link:
        target = self._aliases.get(edge.target, edge.target)
        # Links to an earlier node, or to itself, go back; a node outside comes after all others.
        back = order.get(target, len(order)) <= order[state.id]
        label = link_label(edge, outs, back)
        line = Line.AGAIN if back else Line.ERROR if label == ON_ERROR else Line.FLOW
        if state.effect and state.effect.name == "Return" and edge.event != "recover":
            # Each return gets an end of its own: lines from everywhere to one end would cross the whole
            # picture.
            target = self._aside(flow, Node(self.free(f"{state.id}_end"), Shape.END, stands_for=FINISHED))
        elif target not in order and target != region.end:
            # The target is outside this region: a small node names it instead of a line across frames.
            title = self._titles.get(edge.target, "the end")
            exit_ = Node(self.free(f"{state.id}_exit"), Shape.EXIT, f"to {title}", stands_for=target)
            target = self._aside(flow, exit_)
        return Link(state.id, target, label, line)

    def _aside(self, flow: Flow, node: Node) -> str:
        flow.nodes.append(node)
        return node.id


def _shape(state: Step, outs: list[Edge]) -> Shape:
    if state.regions:
        return Shape.PARALLEL
    if any(edge.guard and edge.guard.name == "when" for edge in outs):
        return Shape.CHOICE
    waits = any(edge.event not in (None, "recover") for edge in outs)
    return Shape.BOX if state.effect or waits else Shape.JUMP


def merged(links: list[Link]) -> Iterator[Link]:
    """One link between two nodes, with all that the several said."""
    found: dict[tuple[str, str], Link] = {}
    for link in links:
        key = (link.source, link.target)
        first = found.get(key)
        found[key] = link if first is None else _both(first, link)
    return iter(found.values())


def _both(first: Link, second: Link) -> Link:
    if second.line is Line.ERROR and first.line is not Line.ERROR:
        # Where both lead to the same step, a failure of the condition itself is not worth a word.
        return first if first.label else replace(first, label=f"also {second.label}")
    return replace(first, label=" or ".join(label for label in (first.label, second.label) if label))


def _pruned(flow: Flow) -> Flow:
    """Remove an end node without incoming links."""
    reached = {link.target for link in flow.links}
    ends = (Shape.END, Shape.JOIN)
    flow.nodes = [node for node in flow.nodes if node.shape not in ends or node.id in reached]
    return flow


def fields_flow(title: str, derived: Mapping[str, tuple[Sequence[str], Any]]) -> Flow:
    """The inputs of derived fields. Each has the fields that it reads, and its expression."""
    read = [field for reads, _ in derived.values() for field in reads if field not in derived]
    flow = Flow(title)
    for field in dict.fromkeys([*read, *derived]):
        reads, value = derived.get(field, ((), None))
        is_derived = field in derived
        detail = show_condition(value) if is_derived else "written by steps"
        tip = (f"computed from: {', '.join(reads) or 'inputs'}", show(value, TIP_WIDTH)) if is_derived else ()
        color = "state" if is_derived else "control"
        flow.nodes.append(Node(f"field_{field}", Shape.BOX, field, show(detail, 120), color, tip=tip))
        flow.links += [Link(f"field_{one}", f"field_{field}") for one in reads]
    return flow
