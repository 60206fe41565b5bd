"""What later steps read of a value, and so what it should look like for them to go on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from wfc.explore.terms import Path, Term

_JSON = "\0json"
"""Stands in a path for what a text holds, once parsed."""
_LISTS = frozenset(
    {
        "first",
        "last",
        "join",
        "map",
        "select",
        "reject",
        "selectattr",
        "rejectattr",
        "sum",
        "sort",
        "unique",
        "list",
    }
)
_SAME = frozenset(
    {"trim", "strip", "default", "list", "sort", "unique", "selectattr", "rejectattr", "reverse"}
)
_DEEPEST = 8


class Shapes:
    """The places that the expressions of one scope read."""

    def __init__(self) -> None:
        self._inside: dict[Path, dict[str | int, None]] = {}
        self._leaves: dict[Path, Any] = {}
        self._same: dict[Path, list[Path]] = {}

    def read(self, term: Term) -> None:
        for place in _places(term):
            for number in range(1, len(place)):
                self._inside.setdefault(place[:number], {})[place[number]] = None

    def compared(self, path: Path, value: Any) -> None:
        """A value that something there is compared with: of its kind, it should be."""
        self._leaves.setdefault(path, value)

    def same(self, term: Term, path: Path) -> None:
        """What an expression gives is kept at a path, and read from there."""
        *_, place = _places(term)
        self._same.setdefault(place, []).append(path)

    def of(self, path: Path, depth: int = 0) -> Any:
        """A value that has all that is read of it; None where nothing is."""
        inside = dict(self._inside.get(path, {}))
        if depth > _DEEPEST:
            return None
        for other in self._same.get(path, ()):
            value = self.of(other, depth + 1)
            if value is not None:
                return value
        if _JSON in inside:
            return json.dumps(self.of((*path, _JSON), depth + 1) or {})
        if 0 in inside:
            return [self._leaf((*path, 0), depth)]
        names = [name for name in inside if isinstance(name, str)]
        if names:
            return {name: self._leaf((*path, name), depth) for name in names}
        return self._leaves.get(path)

    def _leaf(self, path: Path, depth: int) -> Any:
        value = self.of(path, depth + 1)
        return "x" if value is None else value


def _places(term: Term) -> Iterator[Path]:
    """The places that a term reads, the last being what it gives."""
    place = term.path
    yield place
    for operation in term.operations:
        name = operation.name
        if name in _LISTS:
            yield (*place, 0)
        attribute = operation.argument(0) if name in ("selectattr", "rejectattr") else None
        if name == "map":
            attribute = operation.argument(9, "attribute")
        if isinstance(attribute, str):
            yield (*place, 0, *attribute.split("."))
        if name in ("first", "last"):
            place = (*place, 0)
        elif name == "at":
            place = (*place, operation.argument(0))
        elif name == "parse_json":
            place = (*place, _JSON)
        elif name not in _SAME:
            return
        yield place


def all_shapes(terms: Iterable[Term]) -> Shapes:
    found = Shapes()
    for term in terms:
        found.read(term)
    return found
