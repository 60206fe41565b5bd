"""The names that one template sees, and what stands behind each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from wfc.analysis.types.conditions import Place
from wfc.analysis.types.workflow import ScopeTypes
from wfc.caching import cached_per_file
from wfc.language.ast import Scope, Task
from wfc.language.shape import InputDecl
from wfc.taint.guards import settled_by
from wfc.taint.policy import Policy
from wfc.taint.sources import of_declaration
from wfc.taint.values import CLEAN, Flow, Level, Taint, joined, only
from wfc.yaml import Node, Scalar, Sequence
from wfc_runtime.expr import nodes

Variable = tuple[Any, ...]


class File(Protocol):
    policy: Policy

    def read(self, variable: Variable) -> Taint: ...
    def read_field(self, home: ScopeTypes, field: str, mask: int) -> Taint: ...
    def is_run(self, task: Task) -> bool: ...


class Names:
    """The names that one template sees."""

    def __init__(self, file: File, home: ScopeTypes, place: Place | None, names: Mapping[str, Taint]) -> None:
        self._file, self._home, self._place, self._own = file, home, place, names

    @property
    def policy(self) -> Policy:
        return self._file.policy

    def settled(self) -> list[nodes.Expr]:
        if self._place is None:
            return []
        return settled_by(self._home.states.clauses_at(self._place.node, self._place.names))

    def field(self, name: str | None) -> Taint:
        masks = self._home.inference.definitions.masks
        if name is None:
            return only(joined(self.field(field) for field in masks).whole)
        mask = self._home.states.mask_at(self._place.node, name) if self._place else 0
        return self._file.read_field(self._home, name, mask or masks.get(name, 0))

    def input(self, name: str | None) -> Taint:
        scope = self._home.scope
        if name is None:
            return only(joined(self.input(one) for one in scope.declared_inputs).whole)
        decl = scope.declared_inputs.get(name)
        if decl is None:
            return CLEAN
        if isinstance(scope, Task) and self._file.is_run(scope):
            return of_declaration(decl, self._file.read(("input", scope, name)), self.policy)
        return _given_at_start(scope, name, decl, self.policy)

    def other(self, name: str) -> Taint:
        if name in self._own:
            return self._own[name]
        is_child = isinstance(self._home.scope, Task) and name in ("item", "previous")
        return self._file.read((name, self._home.scope)) if is_child else CLEAN


@cached_per_file(128)
def _given_at_start(scope: Scope, name: str, decl: InputDecl, policy: Policy) -> Taint:
    return of_declaration(decl, only(_input_flow(scope, name)), policy)


def _input_flow(scope: Scope, name: str) -> Flow:
    span = next(
        (key.span for key in _keys(scope.node.get("inputs")) if key.text == name), scope.key_span("inputs")
    )
    words = "what the run is started with"
    return Flow(Level.INPUT, words, f"whoever starts a run gives `inputs.{name}`", span)


def _keys(node: Node | None) -> Iterator[Scalar]:
    return iter(()) if node is None or isinstance(node, Scalar | Sequence) else (e.key for e in node.entries)
