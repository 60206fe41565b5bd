"""A machine's states and edges as plain tables, read off its class once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wfc_runtime.machine.guards import Guarding

if TYPE_CHECKING:
    from statemachine.transition import Transition

    from wfc_runtime.machine.chart import Machine
    from wfc_runtime.machine.effects import Effect


@dataclass(slots=True, eq=False)
class Node:
    """A state."""

    id: str
    name: str
    """The step's id as the YAML has it."""
    order: int
    """Its place in the document: parents before their children, branches one after the other."""
    parent: Node | None
    is_final: bool
    is_parallel: bool
    ancestors: tuple[Node, ...] = ()
    """From the innermost out."""
    children: list[Node] = field(default_factory=list)
    initial: list[Node] = field(default_factory=list)
    """What is entered with it: one child, or every branch."""
    eventless: list[Edge] = field(default_factory=list)
    on: dict[str, list[Edge]] = field(default_factory=dict)

    @property
    def is_atomic(self) -> bool:
        return not self.children

    @property
    def is_step(self) -> bool:
        """Whether being here is part of the work: not a frame around other states, and not an end."""
        return not self.children and not self.is_final


@dataclass(slots=True, eq=False)
class Edge:
    source: Node
    target: Node
    guards: tuple[Guarding, ...]
    is_addressed: bool
    """Taken only by an event that names the source."""
    domain: Node | None
    """What stays active while the edge is taken: the innermost state around both ends. None: nothing does."""


class Structure:
    """What drives a machine: its states in document order, their edges, and what they do."""

    def __init__(self, machine: type[Machine[Any, Any]]) -> None:
        self.steps: Mapping[str, Effect] = machine.steps
        self.initial_values = machine.initial
        self.inputs = machine.inputs
        self.secrets = machine.secrets
        self.nodes: dict[str, Node] = {}
        for order, state in enumerate(machine.states_map.values()):
            parent = self.nodes[state.parent.id] if state.parent else None
            node = Node(state.id, str(state.name), order, parent, bool(state.final), bool(state.parallel))
            if parent is not None:
                parent.children.append(node)
                node.ancestors = (parent, *parent.ancestors)
            self.nodes[state.id] = node
        for state in machine.states_map.values():
            for transition in state.transitions:
                self._add(self.nodes[state.id], transition)
        assert machine.initial_state is not None
        self.root = self.nodes[machine.initial_state.id]

    def _add(self, source: Node, transition: Transition) -> None:
        assert transition.target is not None
        target = self.nodes[transition.target.id]
        if transition.initial:
            source.initial.append(target)
            return
        guards = [getattr(spec.func, "__self__", spec.func) for spec in transition.cond]
        known = tuple(guard for guard in guards if isinstance(guard, Guarding))
        is_addressed = "addressed" in guards
        assert len(known) + is_addressed == len(guards), f"{source.id} has a guard that is not ours: {guards}"
        edge = Edge(source, target, known, is_addressed, _domain(source, target))
        events = [str(event) for event in transition.events]
        if not events:
            source.eventless.append(edge)
        for event in events:
            source.on.setdefault(event, []).append(edge)

    def can_recover(self, state: str) -> bool:
        return "recover" in self.nodes[state].on


def _domain(source: Node, target: Node) -> Node | None:
    around = [node for node in source.ancestors if not node.is_parallel and node in target.ancestors]
    return around[0] if around else None


@lru_cache(maxsize=256)
def structure_of(machine: type[Machine[Any, Any]]) -> Structure:
    return Structure(machine)
