"""Reads a file into its shapes, in both spellings of the language.

A whole file under one key `workflow` is read as if it stood at the top. A step whose type is misspelt is read as the
type that was probably meant. A second key `type` of a `user_input` is its `input_type`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from wfc.dialects.reactive.kinds import KINDS, ReactiveStep, UnknownKind
from wfc.dialects.reactive.model import DefaultState, ReactiveFile
from wfc.dialects.steps import recover_entry, recover_type
from wfc.language.dialect import OldSpelling
from wfc.language.shape import Shape
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence

INPUT_TYPE = "input_type"
_ANSWERS = frozenset(("string", "number", "boolean", "choice", "text", "integer"))
_FIELDS = frozenset(name for kind in KINDS.values() for name in kind.FIELDS)
S = TypeVar("S", bound=Shape)


class _Reader:
    """Reads nested shapes and steps for field types."""

    def shape(self, kind: type[Shape], node: Mapping) -> Any:
        if kind is DefaultState:
            return read_shape(kind, in_tiers(node))
        return read_shape(kind, node)

    def step(self, node: Node) -> ReactiveStep | None:
        return read_step(node) if isinstance(node, Mapping) else None


_READER = _Reader()


def read_file(root: Mapping) -> ReactiveFile:
    return read_shape(ReactiveFile, top_of(root))


def top_of(root: Mapping) -> Mapping:
    """The mapping that has the workflow: the file, or the value of its one key `workflow`."""
    inner = root.get("workflow")
    if root.entry("steps") is None and isinstance(inner, Mapping):
        # `imports` may be next to it.
        return Mapping(inner.span, [*inner.entries, *(one for one in root.entries if one.value is not inner)])
    return root


def in_tiers(node: Mapping) -> Mapping:
    """A `default_state` with its fields directly below it (an old spelling), rewritten with the fields under `raw`."""
    loose = loose_fields(node)
    if not loose:
        return node
    kept = [entry for entry in node.entries if entry not in loose]
    raw = next(
        (entry for entry in kept if entry.key.text == "raw" and isinstance(entry.value, Mapping)), None
    )
    inner = raw.value.entries if raw and isinstance(raw.value, Mapping) else []
    key = replace(loose[0].key, text="raw", value="raw")
    merged = Entry(raw.key if raw else key, Mapping(node.span, [*inner, *loose]))
    return Mapping(node.span, [*(entry for entry in kept if entry is not raw), merged])


def loose_fields(node: Mapping) -> list[Entry]:
    """The fields directly below `default_state`."""
    return [
        entry
        for entry in node.entries
        if entry.key.text not in DefaultState.FIELDS or not isinstance(entry.value, Mapping)
    ]


def read_shape(kind: type[S], node: Mapping) -> S:
    return kind(node, _values(kind, node.entries))


def read_step(node: Mapping) -> ReactiveStep:
    entries = _with_input_type(node)
    misspelt = recover_entry(entries, KINDS, _FIELDS)
    if misspelt is not None:
        renamed = Entry(replace(misspelt.key, text="type", value="type"), misspelt.value)
        entries = [renamed if entry is misspelt else entry for entry in entries]
    named = next((entry.value for entry in entries if entry.key.text == "type"), None)
    kind = recover_type(named.text, KINDS) if isinstance(named, Scalar) else None
    return read_shape_of(kind or UnknownKind, node, entries)


def read_shape_of(kind: type[S], node: Mapping, entries: list[Entry]) -> S:
    return kind(node, _values(kind, entries))


def _values(kind: type[Shape], entries: list[Entry]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for entry in entries:
        field = kind.FIELDS.get(entry.key.text)
        if field is None or field.name in values:
            continue
        value = field.type.read(entry.value, _READER)
        if value is not None:
            values[field.name] = value
    return values


# Two keys `type` in one step: the second one is the type of the answer.


def old_spelling(node: Mapping) -> OldSpelling | None:
    types = [entry for entry in node.entries if entry.key.text == "type"]
    if len(types) != 2 or node.entry(INPUT_TYPE) is not None:
        return None
    step = [entry for entry in types if isinstance(entry.value, Scalar) and entry.value.text in KINDS]
    answer = [entry for entry in types if isinstance(entry.value, Scalar) and entry.value.text in _ANSWERS]
    return OldSpelling(step[0], answer[0], INPUT_TYPE) if len(step) == 1 and len(answer) == 1 else None


def _with_input_type(node: Mapping) -> list[Entry]:
    old = old_spelling(node)
    if old is None:
        return node.entries
    renamed = Entry(replace(old.renamed.key, text=old.name, value=old.name), old.renamed.value)
    return [renamed if entry is old.renamed else entry for entry in node.entries]


# Steps inside steps.


def nested(step: ReactiveStep) -> Iterator[list[ReactiveStep]]:
    """The lists of steps inside of a step, in source order."""
    for entry in step.node.entries:
        value = step.values.get(entry.key.text)
        if isinstance(value, list) and isinstance(entry.value, Sequence):
            inner = [one for one in value if isinstance(one, ReactiveStep)]
            if inner:
                yield inner


def walk(steps: list[ReactiveStep]) -> Iterator[ReactiveStep]:
    """Every step, with those inside of it, in source order."""
    for step in steps:
        yield step
        for inner in nested(step):
            yield from walk(inner)
