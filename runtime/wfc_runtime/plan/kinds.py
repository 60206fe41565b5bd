"""Which step of the YAML a state comes from: its id, its type and its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wfc_runtime.machine.effects import Ask, Assign, Begin, Effect, Return
from wfc_runtime.machine.interpreter import Node, Structure
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.plan.ways import condition_of, counted


@dataclass(frozen=True)
class StepInfo:
    id: str
    type: str
    line: int
    node: Node
    effect: Effect | None
    condition: Node | None
    """The state that decides whether the step is taken at all: its `when`."""


def steps_of(structure: Structure, lines: Mapping[str, int]) -> Iterator[StepInfo]:
    """The steps in the order of the YAML. What the compiler added to them for its own use is left out."""
    states: dict[str, list[Node]] = {}
    for name in lines:
        if name in structure.nodes:
            states.setdefault(structure.nodes[name].name, []).append(structure.nodes[name])
    for title, nodes in states.items():
        node = _main(nodes, structure)
        when = nodes[0] if nodes[0] is not node else None
        effect = structure.steps.get(node.id)
        yield StepInfo(title, _type(node, effect, structure), lines[node.id], node, effect, when)


def _main(nodes: list[Node], structure: Structure) -> Node:
    """The state that does a step's work. Its `when` comes before it, the turns of a loop and retries after it."""
    doing = [node for node in nodes if structure.steps.get(node.id) or node.children]
    return doing[0] if doing else nodes[-1]


def _type(node: Node, effect: Effect | None, structure: Structure) -> str:
    choices = [condition_of(edge) for edge in node.eventless]
    match effect:
        case Ask():
            return effect.kind
        case Spawn():
            return "call" if effect.is_call else "foreach"
        case Return():
            return "return"
        case Begin():
            return "while"
        case Assign():
            return "condition" if any(choices) else "set_state"
        case None:
            if node.is_parallel:
                return "parallel"
            if any(edge for edge in node.eventless if counted(edge)):
                return "goto"
            return "condition" if any(choices) else _jump(node, structure)
    return type(effect).__name__.lower()


def _jump(node: Node, structure: Structure) -> str:
    """`continue` goes to the turn of the innermost loop around it, `break` anywhere else."""
    loops = [structure.nodes[effect.loop] for effect in structure.steps.values() if isinstance(effect, Begin)]
    around = [turn for turn in loops if turn.order < node.order and not _is_past(turn, node)]
    innermost = max(around, key=lambda turn: turn.order, default=None)
    return "continue" if innermost is not None and node.eventless[0].target is innermost else "break"


def _is_past(turn: Node, node: Node) -> bool:
    """Whether a node stands after a loop: what follows the loop comes before it, or is it."""
    after = turn.eventless[-1].target
    return turn.order < after.order <= node.order
