"""The picture of a workflow from its IR: all charts; of a graph of dependencies the graph as its author wrote it; of a
mission its phases with their agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from wfc.ir import FINISHED, Chart, Module, State, Vertex
from wfc_runtime.picture.build import TIP_WIDTH, Builder, badge_of, fields_flow, heading_of, merged, who_of
from wfc_runtime.picture.model import Flow, Line, Link, Node, Panel, Picture, Shape
from wfc_runtime.picture.text import shorten, show

IN_ANY_CASE = "in any case"
_MARKS = re.compile(r"\$\{([^{}]*)\}|\{\{-?\s*(.*?)\s*-?\}\}")
_ROOT = re.compile(r"(?<![\w.'\"])(?:inputs|blocks)\.(?=[A-Za-z_])|(?<=\w)\.outputs(?=\.)")
Graph = Mapping[str, Vertex]
"""Steps by name, with their dependencies."""
Outline = Mapping[str, Mapping[str, Any]]
"""Phases by name, with the steps of their agents."""


def to_picture(
    module: Module, task: str | None = None, graph: Graph | None = None, outline: Outline | None = None
) -> Picture:
    """All charts of a workflow, or that of one task. The main steps are shown as the `graph`, or as the phases of the
    `outline`, if there is one."""
    panels: list[Panel] = []
    if task is None:
        main = module.main
        flow = (
            _graph_flow(main, graph)
            if graph
            else _phases_flow(main, outline)
            if outline
            else Builder(main).root()
        )
        panels.append(_panel(main, f"{module.name} {module.version}".strip(), flow))
        panels += _fields_panel(main, f"computed fields of {module.name}", "fields")
    for title, chart in module.tasks.items():
        if task in (None, title):
            panels.append(_panel(chart, f"task {title}", Builder(chart).root(), title))
            panels += _fields_panel(chart, f"computed fields of {title}", f"{title} fields")
    return Picture(module.name if task is None else f"{module.name}: {task}", tuple(panels))


def _panel(chart: Chart, caption: str, flow: Flow, name: str = "main") -> Panel:
    return Panel(shorten(caption, 120), tuple(chart.inputs), chart.description, flow, name)


def _fields_panel(chart: Chart, caption: str, name: str) -> list[Panel]:
    derived = {
        field: (one.arguments.get("reads", ()), one.arguments.get("value"))
        for field, one in chart.derived.items()
    }
    return [Panel(shorten(caption, 120), (), "", fields_flow(chart.title, derived), name)] if derived else []


def _graph_flow(chart: Chart, graph: Graph) -> Flow:
    """A node for each step of the graph, a link for each dependency, and at the end the step outside the graph."""
    states = {state.title: state for state in chart.states() if _is_work(state, chart)}
    steps = {name: states[name] for name in graph if name in states}
    waits = {name: [one for one in graph[name].waits if one.step in steps] for name in steps}
    names = Builder(chart)
    start = Node(names.free("start"), Shape.START, stands_for="")
    end = Node(names.free("end"), Shape.END, stands_for=FINISHED)
    # The step after the graph returns its results.
    last = [_plain_node(state, Vertex(())) for title, state in states.items() if title not in graph][:1]
    flow = Flow(chart.title, [start])
    for name, state in steps.items():
        flow.nodes.append(_plain_node(state, graph[name]))
        links = [
            Link(steps[one.step].id, state.id, "" if one.required else IN_ANY_CASE) for one in waits[name]
        ]
        # A step without dependencies begins at once.
        flow.links += links or [Link(start.id, state.id)]
    waited_for = {one.step for found in waits.values() for one in found}
    # Nothing waits for these, so the workflow ends after them.
    sources = [state.id for name, state in steps.items() if name not in waited_for] or [start.id]
    for node in (*last, end):
        flow.nodes.append(node)
        flow.links += [Link(source, node.id) for source in sources]
        sources = [node.id]
    flow.links = list(merged(flow.links))
    return flow


def _phases_flow(chart: Chart, outline: Outline) -> Flow:
    """A frame for each phase with its agents in it, and a node for each checkpoint."""
    states = {state.title: state for state in chart.states()}
    names = Builder(chart)
    start = Node(names.free("start"), Shape.START, stands_for="")
    flow = Flow(chart.title, [start])
    before = start.id
    for phase in outline.values():
        title = f"{phase['number']}. {phase['name']}"
        agents = [(states[name], role) for name, role in phase["agents"].items() if name in states]
        frame = ""
        if agents:
            frame = names.free(f"phase_{phase['number']}")
            # Agents of a parallel phase are next to each other in the frame.
            branches = _agent_flows(agents, names, is_parallel=phase.get("parallel", False))
            flow.nodes.append(
                Node(frame, Shape.PARALLEL, title, branches=branches, stands_for=agents[0][0].id)
            )
            flow.links.append(Link(before, frame))
            before = frame
        gate = states.get(phase.get("checkpoint", ""))
        if gate is not None:
            tip = tuple(heading_of(gate, gate.kind))
            words = "approval" if agents else title
            flow.nodes.append(Node(gate.id, Shape.BOX, words, "a person decides", gate.color, "", tip))
            flow.links.append(Link(before, gate.id))
            if frame:
                flow.links.append(Link(gate.id, frame, "change", Line.AGAIN))
            before = gate.id
    end = Node(names.free("end"), Shape.END, stands_for=FINISHED)
    flow.nodes.append(end)
    flow.links.append(Link(before, end.id))
    return flow


def _agent_flows(agents: list[tuple[State, str]], names: Builder, *, is_parallel: bool) -> tuple[Flow, ...]:
    """One flow for each agent of a parallel phase; otherwise one for all, one agent after the other."""
    groups = [[one] for one in agents] if is_parallel else [agents]
    flows: list[Flow] = []
    for group in groups:
        flow = Flow("")
        for state, role in group:
            parameters = state.effect.arguments.get("parameters", {}) if state.effect else {}
            sort = parameters.get("subagent_type")
            detail = f"played by {sort}" if sort and sort != role else "agent"
            tip = tuple(heading_of(state, state.kind))
            flow.nodes.append(Node(state.id, Shape.BOX, role, show(detail, 60), state.color, "", tip))
        flow.nodes.append(Node(names.free(f"{group[-1][0].id}_done"), Shape.JOIN))
        flow.links = [Link(one.id, other.id) for one, other in pairwise(flow.nodes)]
        flows.append(flow)
    return tuple(flows)


def _is_work(state: State, chart: Chart) -> bool:
    """Whether the state does the work of a step in the source."""
    return state.step is not None and state.kind == state.step.kind and state.id not in chart.added


def _plain_node(state: State, vertex: Vertex) -> Node:
    # The kind of an answer and the task for one item are names of the machine.
    is_named = state.kind not in ("prompt", "foreach")
    who = who_of(state.effect) if state.effect and is_named else ""
    detail = f"{state.word} {who}".rstrip()
    # The effect uses names of the machine, which are not in the source.
    given = [f"{name}: {show(value, TIP_WIDTH)}" for name, value in vertex.inputs.items()]
    tip = [*heading_of(state, state.word), *given]
    if vertex.condition:
        tip.append(f"condition: {show(vertex.condition, TIP_WIDTH)}")
    return Node(
        state.id,
        Shape.BOX,
        state.title,
        show(detail, 80),
        state.color,
        badge_of(state),
        tuple(tip),
        condition=show(_in_short(vertex.condition), 120),
    )


def _in_short(condition: str) -> str:
    """A condition without the marks of its references, and without what nearly every reference begins with."""
    return _ROOT.sub("", _MARKS.sub(lambda found: found[1] or found[2] or "", condition))
