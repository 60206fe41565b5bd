"""How many actions a run asks of agents: at least, at most, and per item where nobody knows how many there are.

An action is what an agent, or the person behind it, has to do and answer. Waiting is none, and neither is a
foreach or a call itself: the actions of its children are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from wfc_runtime.machine.chart import AnyMachine, Workflow
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.interpreter import Node, structure_of
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.plan.longest import Longest
from wfc_runtime.plan.shortest import Shortest
from wfc_runtime.plan.ways import Way, Ways

Lookup = Callable[[str], Workflow | None]
"""A workflow by its name; None where there is none that could be called."""


@dataclass(frozen=True)
class PerItem:
    """A foreach over a list of any length: what each item asks for, each time the step runs."""

    step: str
    scope: str
    """The workflow or task that has the step."""
    least: float
    most: float


@dataclass(frozen=True)
class Endless:
    """Steps that a run can go round in for as long as something fails."""

    scope: str
    steps: tuple[str, ...]
    failing: tuple[str, ...]
    """Those whose `on_error` leads back."""


@dataclass(frozen=True)
class Count:
    least: float
    """inf: no run can complete."""
    most: float
    per_item: tuple[PerItem, ...] = ()
    endless: tuple[Endless, ...] = ()
    unknown: tuple[str, ...] = ()
    """Workflows that are called and not there to be counted."""


class Counter:
    """Counts a workflow, its tasks and what it calls, each once."""

    def __init__(self, workflow: Workflow, lookup: Lookup, found: dict[str, Count] | None = None) -> None:
        self._workflow = workflow
        self._lookup = lookup
        self._called = found if found is not None else {}
        self._tasks: dict[str, Count] = {}

    def main(self) -> Count:
        name = self._workflow.name
        if name not in self._called:
            # Whoever calls itself is refused by the compiler; here it must only not go on for ever.
            self._called[name] = Count(0, 0, unknown=(name,))
            self._called[name] = self._count(self._workflow.machine, name)
        return self._called[name]

    def task(self, name: str) -> Count:
        if name not in self._tasks:
            self._tasks[name] = Count(0, 0)
            self._tasks[name] = self._count(self._workflow.tasks[name], name)
        return self._tasks[name]

    def child(self, spawn: Spawn) -> Count:
        """What one child of a foreach or a call asks for."""
        if spawn.task is not None:
            briefed = spawn.agent is not None and spawn.agent != "@task"
            return Count(1, 1) if briefed else self.task(spawn.task)
        called = self._lookup(spawn.workflow or "")
        if called is None:
            return Count(0, 0, unknown=(spawn.workflow or "",))
        return Counter(called, self._lookup, self._called).main()

    def _count(self, machine: AnyMachine, scope: str) -> Count:
        return _Scope(self, machine, scope).count()


class _Scope:
    """One machine on the way to its count."""

    def __init__(self, counter: Counter, machine: AnyMachine, scope: str) -> None:
        self._counter = counter
        self._scope = scope
        self._ways = Ways(structure_of(machine))
        self._weights: dict[str, Count] = {}
        self._longest = Longest(lambda node: self._weight(node).most)

    def count(self) -> Count:
        root = self._ways.structure.root
        least = Shortest(self._ways, lambda node: self._weight(node).least).through(root)
        most = self._most(root)
        weights = self._weights.values()
        return Count(
            least,
            max(most, least) if least < inf else most,
            tuple(dict.fromkeys(one for count in weights for one in count.per_item)),
            tuple(dict.fromkeys([*self._endless(), *(one for count in weights for one in count.endless)])),
            tuple(dict.fromkeys(name for count in weights for name in count.unknown)),
        )

    def _most(self, region: Node) -> float:
        start = {child.id: 0.0 for child in region.initial}
        found = self._longest.ending_with(self._ways.nodes(region), self._ways.within(region), start)
        return max(found.values(), default=0)

    def _weight(self, state: str) -> Count:
        if state not in self._weights:
            node = self._ways.structure.nodes[state]
            effect = self._ways.structure.steps.get(state)
            if node.is_parallel:
                found = Count(0, sum(self._most(branch) for branch in node.children))
            elif isinstance(effect, Ask) and effect.wait_seconds is None:
                found = Count(1, effect.retry.max_attempts if effect.retry else 1)
            elif isinstance(effect, Spawn):
                found = self._spawned(effect, node.name)
            else:
                found = Count(0, 0)
            self._weights[state] = found
        return self._weights[state]

    def _spawned(self, spawn: Spawn, step: str) -> Count:
        child = self._counter.child(spawn)
        attempts = spawn.retry.max_attempts if spawn.retry else 1
        known = 1 if spawn.is_call else len(spawn.items) if isinstance(spawn.items, list) else None
        most = spawn.max_items if known is None else known
        per_item = child.per_item
        if most is None:
            per_item = (PerItem(step, self._scope, child.least, child.most * attempts), *per_item)
        return Count(
            known * child.least if known and child.least < inf else 0,
            most * child.most * attempts if most and child.most else 0,
            per_item,
            child.endless,
            child.unknown,
        )

    def _endless(self) -> list[Endless]:
        nodes = self._ways.structure.nodes
        return [
            Endless(
                self._scope,
                _names(nodes, [way.source for way in ways]),
                _names(nodes, [way.edge.source.id for way in ways if _is_recovery(way)]),
            )
            for ways in self._longest.endless
        ]


def _is_recovery(way: Way) -> bool:
    return any(way.edge in edges for event, edges in way.edge.source.on.items() if event == "recover")


def _names(nodes: dict[str, Node], states: list[str]) -> tuple[str, ...]:
    ordered = sorted((nodes[state] for state in dict.fromkeys(states)), key=lambda node: node.order)
    return tuple(dict.fromkeys(node.name for node in ordered))
