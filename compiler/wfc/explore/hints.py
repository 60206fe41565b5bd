"""Values worth trying, mined from every expression: constants and their neighbours, texts that patterns match."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from wfc.explore.goals import solve
from wfc.explore.patterns import sample
from wfc.explore.scopes import Scope, World
from wfc.explore.terms import Path, Term, lone, terms_in, undo
from wfc_runtime.expr import nodes

Place = tuple[str, str | None]
"""A scope, and the field that a step's result goes to; None: the inputs."""
_MOST = 40
_BROKEN_JSON = ("[]", "{}", "null", "7", "not json")


class Pool:
    """By field and by place inside the result: what to try there."""

    def __init__(self, world: World) -> None:
        self._found: dict[Place, dict[Path, dict[str, Any]]] = {}
        for scope in world.scopes.values():
            for path, value in _mined(world, scope):
                for aim in world.aims(scope, {path: [value]}):
                    for one in aim.values:
                        self._add((aim.scope, aim.field), aim.place, one)

    def of(self, scope: str, field: str | None) -> dict[Path, list[Any]]:
        places = self._found.get((scope, field), {})
        return {path: list(values.values()) for path, values in places.items()}

    def _add(self, place: Place, path: Path, value: Any) -> None:
        values = self._found.setdefault(place, {}).setdefault(path, {})
        if len(values) < _MOST:
            values.setdefault(json.dumps(value, sort_keys=True, default=str), value)


def _mined(world: World, scope: Scope) -> Iterator[tuple[Path, Any]]:
    known = world.known(scope)
    conditions = [lone(condition.text) for condition in scope.conditions]
    atoms: list[nodes.Node] = [one for one in conditions if one is not None]
    for tree in scope.trees:
        atoms += tree.find_all((nodes.Compare, nodes.Test))
    for atom in atoms:
        for want in (True, False):
            for goal in solve(atom, want, known):
                for path, values in goal.items():
                    yield from ((path, value) for value in values)
    for tree in scope.trees:
        for term in terms_in(tree):
            yield from ((term.path, value) for value in _samples(term, scope))


def _samples(term: Term, scope: Scope) -> Iterator[Any]:
    """Texts that what is done to a value can make something of, and some that it can't."""
    for number, operation in enumerate(term.operations):
        before = term.operations[:number]
        match operation.name:
            case "parse_json":
                yield from undo(_BROKEN_JSON, before)
                shape = scope.shapes.of(term.path)
                if isinstance(shape, str):
                    yield shape
                    read = json.loads(shape) if shape[:1] in "[{" else None
                    if isinstance(read, list):
                        yield json.dumps(read * 2)
            case "regex_search" | "regex_match":
                for group in (None, "0", "50", "100"):
                    made = sample(str(operation.argument(0)), group=group)
                    if made is not None:
                        yield from undo([made], before)
            case "split":
                separator = str(operation.argument(0) or " ")
                yield from undo([f"a{separator}b"], before)
            case "int" | "float":
                yield from undo(["7"], before)
