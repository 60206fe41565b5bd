"""IR -> picture. Parts of a step that a reader does not think of as steps become labels and badges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wfc.graph.labels import ON_ERROR, badge_of, detail_of, link_label, tip_of
from wfc.graph.model import Flow, Line, Link, Node, Panel, Picture, Shape
from wfc.graph.words import shorten
from wfc.ir import FINISHED, Chart, Edge, Module, Region, State


def to_picture(module: Module, task: str | None = None) -> Picture:
    """All charts of a workflow, or the one of a task."""
    charts = [chart for title, chart in module.tasks.items() if task in (None, title)]
    panels = [_panel(chart, f"task {chart.title}") for chart in charts]
    if task is None:
        panels.insert(0, _panel(module.main, f"{module.name} {module.version}".strip()))
    return Picture(module.name if task is None else f"{module.name}: {task}", tuple(panels))


def _panel(chart: Chart, caption: str) -> Panel:
    flow = _Build(chart).root()
    return Panel(shorten(caption, 120), tuple(chart.inputs), chart.description, flow)


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
        start = Node(self._free("start"), Shape.START)
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

    def _free(self, name: str) -> str:
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
            target = self._aside(flow, Node(self._free(f"{state.id}_end"), Shape.END))
        elif target not in order and target != region.end:
            title = self._titles.get(edge.target, "the end")
            target = self._aside(flow, Node(self._free(f"{state.id}_exit"), Shape.EXIT, f"to {title}"))
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
