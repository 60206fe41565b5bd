"""A machine's states and edges as plain tables, read off its class once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from wfc_runtime.machine.guards import OK, Guarding

if TYPE_CHECKING:
    from statemachine.transition import Transition

    from wfc_runtime.machine.chart import AnyMachine
    from wfc_runtime.machine.effects import Effect


@dataclass(slots=True, eq=False, repr=False)
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
    path: tuple[Node, ...] = ()
    """Itself and its ancestors."""
    children: list[Node] = field(default_factory=list)
    initial: list[Node] = field(default_factory=list)
    """What is entered with it: one child, or every branch."""
    eventless: list[Edge] = field(default_factory=list)
    on: dict[str, list[Edge]] = field(default_factory=dict)

    def __repr__(self) -> str:
        # All that it leads to would be the whole chart, many times over.
        return f"Node({self.id!r})"

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
    entering: tuple[Node, ...]
    """The target, what is entered by default inside it, and what lies between it and the domain; in order."""


class Structure:
    """What drives a machine: its states in document order, their edges, and what they do."""

    def __init__(self, machine: AnyMachine) -> None:
        self.steps: Mapping[str, Effect] = machine.steps
        self.initial_values = machine.initial
        self.inputs = machine.inputs
        self.secrets = machine.secrets
        self.facts = machine.facts
        self.deferred = frozenset(machine.deferred)
        self.nodes: dict[str, Node] = {}
        for order, state in enumerate(machine.states_map.values()):
            parent = self.nodes[state.parent.id] if state.parent else None
            node = Node(state.id, str(state.name), order, parent, bool(state.final), bool(state.parallel))
            if parent is not None:
                parent.children.append(node)
                node.ancestors = parent.path
            node.path = (node, *node.ancestors)
            self.nodes[state.id] = node
        transitions = [one for state in machine.states_map.values() for one in state.transitions]
        for transition in transitions:
            if transition.initial:
                source, target = self._ends(transition)
                source.initial.append(target)
        for transition in transitions:
            if not transition.initial:
                self._add(transition)
        assert machine.initial_state is not None
        self.root = self.nodes[machine.initial_state.id]
        self.first = in_order(_with_defaults(self.root))
        """What is active at the beginning."""

    def _ends(self, transition: Transition) -> tuple[Node, Node]:
        assert transition.target is not None
        return self.nodes[transition.source.id], self.nodes[transition.target.id]

    def _add(self, transition: Transition) -> None:
        source, target = self._ends(transition)
        guards = [getattr(spec.func, "__self__", spec.func) for spec in transition.cond]
        known = tuple(guard for guard in guards if isinstance(guard, Guarding))
        is_addressed = "addressed" in guards
        assert len(known) + is_addressed == len(guards), f"{source.id} has a guard that is not ours: {guards}"
        events = [str(event) for event in transition.events]
        if not guards and not events:
            known = (OK,)
        domain = _domain(source, target)
        edge = Edge(source, target, known, is_addressed, domain, in_order(_entered(target, domain)))
        if not events:
            source.eventless.append(edge)
        for event in events:
            source.on.setdefault(event, []).append(edge)

    def can_recover(self, state: str) -> bool:
        return "recover" in self.nodes[state].on


def _domain(source: Node, target: Node) -> Node | None:
    around = [node for node in source.ancestors if not node.is_parallel and node in target.ancestors]
    return around[0] if around else None


def _entered(target: Node, domain: Node | None) -> dict[str, Node]:
    entered = _with_defaults(target)
    for node in target.ancestors:
        if node is domain:
            break
        entered[node.id] = node
        if node.is_parallel:
            for branch in node.children:
                if branch.id not in entered:
                    entered.update(_with_defaults(branch))
    return entered


def _with_defaults(node: Node) -> dict[str, Node]:
    found = {node.id: node}
    for child in node.initial:
        found.update(_with_defaults(child))
    return found


def in_order(nodes: Mapping[str, Node]) -> tuple[Node, ...]:
    return tuple(sorted(nodes.values(), key=lambda node: node.order))


@lru_cache(maxsize=256)
def structure_of(machine: AnyMachine) -> Structure:
    return Structure(machine)
