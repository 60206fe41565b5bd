"""Mappings and lists of the steps language, made during the translation."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Map

from wfc.dialects.base import made
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Span


def mapping(at: Span, **values: Node | str | int | float | bool | None) -> Mapping:
    """A mapping at a place. A value that is None is left out; a trailing underscore is not part of a key."""
    return Mapping(
        at,
        [
            Entry(
                made(name.rstrip("_"), at),
                value if isinstance(value, Scalar | Sequence | Mapping) else made(value, at),
            )
            for name, value in values.items()
            if value is not None
        ],
    )


def keyed(at: Span, values: Map[str, Node], places: Map[str, Span] | None = None) -> Mapping:
    """A mapping whose keys are names of fields, each at its place in the file."""
    known = places or {}
    return Mapping(at, [Entry(made(name, known.get(name, at)), value) for name, value in values.items()])


def places_of(node: Node | None) -> dict[str, Span]:
    """The keys of a mapping with their places."""
    return {entry.key.text: entry.key.span for entry in node.entries} if isinstance(node, Mapping) else {}


def words(at: Span, names: Iterable[str]) -> Sequence:
    return Sequence(at, [made(name, at) for name in names])
