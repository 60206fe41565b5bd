"""The branches of every machine: where a run can go one way or another, and a way that leads there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from wfc.explore.scopes import Scope
from wfc.explore.terms import expressions, terms_in
from wfc_runtime.expr import ExpressionError, evaluate_condition
from wfc_runtime.machine.structure import Edge, Node, structure_of
from wfc_runtime.plan.ways import condition_of, counted, edges_of

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Branch:
    scope: Scope
    edge: Edge
    kind: str
    """then, else, jump, used up, or on error."""
    is_possible: bool
    """Whether anything leads there, by the chart alone."""

    @property
    def step(self) -> str:
        return self.edge.source.name


class Chart:
    """The branches of one scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.structure = structure_of(scope.machine)
        self._out: dict[str, list[Edge]] = {}
        for _, edge in edges_of(self.structure):
            if edge.domain is not None:
                self._out.setdefault(edge.source.id, []).append(edge)
        self._before = self._search()

    def branches(self) -> Iterator[Branch]:
        for node in self.structure.nodes.values():
            for edge in node.eventless:
                choice = condition_of(edge)
                if choice is not None and choice.text is True:
                    yield self._branch(edge, "jump", True)
                elif choice is not None:
                    yield self._branch(edge, "then", _constant(choice.text) is not False)
                elif edge is not node.eventless[0]:
                    yield self._branch(edge, "else", _constant(_first_text(node)) is not True)
            for edge in node.on.get("recover", ()):
                kind = "used up" if any(counted(one) for one in node.eventless) else "on error"
                yield self._branch(edge, kind, True)

    def _branch(self, edge: Edge, kind: str, possible: bool) -> Branch:
        return Branch(self.scope, edge, kind, possible and edge.source.id in self._before)

    def way_to(self, state: str) -> list[Edge]:
        """The fewest edges from the beginning to a state; empty where none are needed, or none lead there."""
        found: list[Edge] = []
        at = self._before.get(state)
        while at is not None:
            edge, state = at
            found.append(edge)
            at = self._before.get(edge.source.id)
        return found[::-1]

    def _search(self) -> dict[str, tuple[Edge, str] | None]:
        before: dict[str, tuple[Edge, str] | None] = {}
        todo = deque(_leaves(self.structure.root))
        for node in todo:
            before[node.id] = None
        while todo:
            node = todo.popleft()
            for edge in [*self._out.get(node.id, ()), *self._joins(node)]:
                for target in _leaves(edge.target):
                    if target.id not in before:
                        before[target.id] = (
                            (edge, node.id) if edge.source is node else (_from(edge, node), node.id)
                        )
                        todo.append(target)
        return before

    def _joins(self, node: Node) -> list[Edge]:
        """Where a branch has come to its end, the step around it goes on."""
        around = node.parent.parent if node.is_final and node.parent else None
        return self._out.get(around.id, []) if around is not None and around.is_parallel else []


def _from(edge: Edge, node: Node) -> Edge:
    return replace(edge, source=node)


def _leaves(node: Node) -> list[Node]:
    if not node.children:
        return [node]
    return [leaf for child in node.initial for leaf in _leaves(child)]


def _first_text(node: Node) -> object:
    condition = condition_of(node.eventless[0])
    return condition.text if condition is not None and condition.most is None else None


def _constant(text: object) -> bool | None:
    """How a condition comes out that looks at nothing; None for all others."""
    if text is None:
        return None
    if any(True for tree in expressions(text) for _ in terms_in(tree)):
        return None
    try:
        return evaluate_condition(text, {}, now=_NOW, uuid_seed="")
    except ExpressionError:
        return None
