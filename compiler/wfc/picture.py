"""Build the picture of a workflow from its IR. States that are only parts of a step become labels and badges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from wfc.ir import FINISHED, Chart, Edge, Effect, Guard, Module, Ref, Region, State, Vertex
from wfc_runtime.picture.model import Flow, Line, Link, Node, Panel, Picture, Shape
from wfc_runtime.picture.text import shorten, show, show_condition

# Labels: the text in nodes and on links.

ON_ERROR = "on error"
IN_ANY_CASE = "in any case"
_TIP_WIDTH = 140
_UNSAID = ("kind", "instruction", "result", "where", "loop", "step")


def detail_of(state: State, outs: list[Edge]) -> str:
    """The condition of a choice; of other steps the kind, whom or what it involves, and what it writes."""
    effect = state.effect
    if _guard(outs) is not None:
        return show_condition(_condition(state, outs))
    who = _who(effect) if effect else ""
    writes = _writes(effect) if effect else ()
    text = state.kind + (f" {who}" if who else "")
    return text + (f" → {_listed(writes)}" if writes else "")


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 3 else (*names[:2], f"+{len(names) - 2}")
    return show(", ".join(shown), 80)


def badge_of(state: State) -> str:
    retry = state.effect.retry if state.effect else None
    attempts = retry.get("max_attempts") if retry else None
    if not attempts:
        return ""
    return "1 try" if attempts == 1 else f"{attempts} tries"


def link_label(edge: Edge, outs: list[Edge], back: bool) -> str:
    guard = edge.guard
    if edge.event == "recover":
        counted = any(other.guard and other.guard.name == "at_most" for other in outs)
        return "used up" if counted else ON_ERROR
    if guard is None or guard.name == "ok":
        return ""
    if guard.name == "otherwise":
        return "no"
    most = f"at most {guard.at_most}" if guard.at_most is not None else ""
    if guard.name == "when":
        return f"yes, {most}" if most else "yes"
    if back:
        return f"again, {most}" if most else "again"
    return most if guard.at_most != 1 else ""


def tip_of(step: State, state: State, outs: list[Edge]) -> tuple[str, ...]:
    """The whole of a step in a few lines. `state` may be only a part of it."""
    lines = _heading(step, state.kind if step is state else step.kind)
    guard = _guard(outs)
    effect = state.effect
    reads = dict.fromkeys((*(effect.reads if effect else ()), *(guard.reads if guard else ())))
    if reads:
        lines.append(f"reads: {show(', '.join(reads), _TIP_WIDTH)}")
    if effect and (writes := _writes(effect)):
        lines.append(f"writes: {show(', '.join(writes), _TIP_WIDTH)}")
    if guard:
        lines.append(f"if: {show(_condition(state, outs), _TIP_WIDTH)}")
    elif effect:
        lines += [f"{key}: {show(value, _TIP_WIDTH)}" for key, value in _arguments(effect)]
    return tuple(lines)


def _heading(step: State, kind: str) -> list[str]:
    title = f"{show(step.title, _TIP_WIDTH)} ({kind}), line {step.line}"
    return [title, show(step.note, _TIP_WIDTH)] if step.note else [title]


def _guard(outs: list[Edge]) -> Guard | None:
    return next((edge.guard for edge in outs if edge.guard and edge.guard.name == "when"), None)


def _condition(state: State, outs: list[Edge]) -> Any:
    """A choice that keeps its value is made by what it has just kept: the condition is what it keeps."""
    guard = _guard(outs)
    updates = state.effect.arguments.get("updates") if state.effect else None
    if isinstance(updates, dict) and len(updates) == 1:
        return next(iter(updates.values()))
    return guard.text if guard and guard.text is not None else ""


def _who(effect: Effect) -> str:
    """A task, a workflow, a tool, an agent, a kind of answer or a time: whichever the step has."""
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


def _writes(effect: Effect) -> tuple[str, ...]:
    updates = effect.arguments.get("updates")
    names = tuple(updates) if isinstance(updates, dict) else ()
    return (*names, effect.writes) if effect.writes else names


def _arguments(effect: Effect) -> Iterator[tuple[str, Any]]:
    for key, value in effect.arguments.items():
        if value is None or key in _UNSAID or isinstance(value, Ref):
            continue
        if key in ("parameters", "updates") and isinstance(value, dict):
            yield from ((name, item) for name, item in value.items() if item is not None)
        else:
            yield key.replace("_", " "), value
    if effect.retry:
        yield "retry", ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in effect.retry.items())


# The model of each chart.


Graph = Mapping[str, Vertex]
"""Steps by name, with what each waits for."""


def to_picture(module: Module, task: str | None = None, graph: Graph | None = None) -> Picture:
    """All charts of a workflow, or the one of a task. With a `graph`, that is what is shown of its main steps."""
    charts = [chart for title, chart in module.tasks.items() if task in (None, title)]
    panels = [_panel(chart, f"task {chart.title}", _Build(chart).root()) for chart in charts]
    if task is None:
        main = module.main
        flow = _Build(main).root() if graph is None else _graph_flow(main, graph)
        panels.insert(0, _panel(main, f"{module.name} {module.version}".strip(), flow))
    return Picture(module.name if task is None else f"{module.name}: {task}", tuple(panels))


def _panel(chart: Chart, caption: str, flow: Flow) -> Panel:
    return Panel(shorten(caption, 120), tuple(chart.inputs), chart.description, flow)


def _graph_flow(chart: Chart, graph: Graph) -> Flow:
    """A node for each step of the graph and a link for each dependency; at the end the step that is not in it."""
    states = {state.title: state for state in chart.states() if _is_work(state, chart)}
    steps = {name: states[name] for name in graph if name in states}
    waits = {name: [one for one in graph[name].waits if one.step in steps] for name in steps}
    names = _Build(chart)
    start, end = Node(names.free("start"), Shape.START), Node(names.free("end"), Shape.END)
    last = [_plain_node(state, Vertex(())) for title, state in states.items() if title not in graph][:1]
    flow = Flow(chart.title, [start])
    for name, state in steps.items():
        flow.nodes.append(_plain_node(state, graph[name]))
        links = [
            Link(steps[one.step].id, state.id, "" if one.required else IN_ANY_CASE) for one in waits[name]
        ]
        flow.links += links or [Link(start.id, state.id)]
    waited_for = {one.step for found in waits.values() for one in found}
    sources = [state.id for name, state in steps.items() if name not in waited_for] or [start.id]
    for node in (*last, end):
        flow.nodes.append(node)
        flow.links += [Link(source, node.id) for source in sources]
        sources = [node.id]
    flow.links = list(_merged(flow.links))
    return flow


def _is_work(state: State, chart: Chart) -> bool:
    """Whether it does the work of a step that the author wrote."""
    return state.step is not None and state.kind == state.step.kind and state.id not in chart.added


def _plain_node(state: State, vertex: Vertex) -> Node:
    who = _who(state.effect) if state.effect else ""
    detail = f"{state.kind} {who}".rstrip()
    # The effect is in the machine's terms, which the author has not written.
    given = [f"{name}: {show(value, _TIP_WIDTH)}" for name, value in vertex.inputs.items()]
    tip = [*_heading(state, state.kind), *given]
    if vertex.condition:
        detail = f"{detail} if {vertex.condition}"
        tip.append(f"condition: {show(vertex.condition, _TIP_WIDTH)}")
    return Node(state.id, Shape.BOX, state.title, show(detail, 80), state.color, badge_of(state), tuple(tip))


class _Build:
    """One chart on its way to a flow."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._titles = {state.id: state.title for state in chart.states()}
        self._taken = {FINISHED, *self._titles}
        begins = {
            str(state.effect.arguments.get("loop")): state
            for state in chart.states()
            if state.effect and state.effect.name == "Begin"
        }
        self._loops = {turn: state for turn, state in begins.items() if turn in self._titles}
        self._aliases = {state.id: turn for turn, state in self._loops.items()}
        self._pauses = {state.id for state in chart.states() if state.effect and state.effect.name == "Delay"}

    def root(self) -> Flow:
        root = self._chart.root
        start = Node(self.free("start"), Shape.START)
        flow = self._flow(root, Shape.END)
        flow.nodes.insert(0, start)
        flow.links.insert(0, Link(start.id, self._aliases.get(root.initial, root.initial)))
        return _pruned(flow)

    def _flow(self, region: Region, end: Shape) -> Flow:
        order = {state.id: number for number, state in enumerate(region.states)}
        edges: dict[str, list[Edge]] = {}
        for edge in region.edges:
            edges.setdefault(edge.source, []).append(edge)
        flow = Flow(region.title)
        for state in region.states:
            if state.id in self._aliases or state.id in self._pauses:
                continue
            outs = [edge for edge in edges.get(state.id, []) if edge.target not in self._pauses]
            flow.nodes.append(self._node(state, outs))
            for edge in outs:
                flow.links.append(self._link(flow, edge, state, outs, order, region))
        flow.nodes.append(Node(region.end, end))
        flow.links = list(_merged(flow.links))
        return flow

    # -- nodes -----------------------------------------------------------------

    def _node(self, state: State, outs: list[Edge]) -> Node:
        whole = self._loops.get(state.id, state)
        shape = _shape(state, outs)
        return Node(
            state.id,
            shape,
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
        self, flow: Flow, edge: Edge, state: State, outs: list[Edge], order: dict[str, int], region: Region
    ) -> Link:
        target = self._aliases.get(edge.target, edge.target)
        back = order.get(target, len(order)) <= order[state.id]
        label = link_label(edge, outs, back)
        line = Line.AGAIN if back else Line.ERROR if label == ON_ERROR else Line.FLOW
        if state.effect and state.effect.name == "Return" and edge.event != "recover":
            target = self._aside(flow, Node(self.free(f"{state.id}_end"), Shape.END))
        elif target not in order and target != region.end:
            title = self._titles.get(edge.target, "the end")
            target = self._aside(flow, Node(self.free(f"{state.id}_exit"), Shape.EXIT, f"to {title}"))
        return Link(state.id, target, label, line)

    def _aside(self, flow: Flow, node: Node) -> str:
        flow.nodes.append(node)
        return node.id


def _shape(state: State, outs: list[Edge]) -> Shape:
    if state.regions:
        return Shape.PARALLEL
    if any(edge.guard and edge.guard.name == "when" for edge in outs):
        return Shape.CHOICE
    waits = any(edge.event not in (None, "recover") for edge in outs)
    return Shape.BOX if state.effect or waits else Shape.JUMP


def _merged(links: list[Link]) -> Iterator[Link]:
    """One link between two nodes, with all that the several said."""
    found: dict[tuple[str, str], Link] = {}
    for link in links:
        key = (link.source, link.target)
        first = found.get(key)
        found[key] = link if first is None else _both(first, link)
    return iter(found.values())


def _both(first: Link, second: Link) -> Link:
    if not first.label and second.line is Line.ERROR:
        return replace(first, label=f"also {second.label}")
    return replace(first, label=" or ".join(label for label in (first.label, second.label) if label))


def _pruned(flow: Flow) -> Flow:
    """Without an end that nothing reaches."""
    reached = {link.target for link in flow.links}
    ends = (Shape.END, Shape.JOIN)
    flow.nodes = [node for node in flow.nodes if node.shape not in ends or node.id in reached]
    return flow
