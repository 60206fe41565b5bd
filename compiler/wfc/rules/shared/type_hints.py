"""What to write instead of a value of the wrong kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.language.fields import BLOCK, STEPS, FieldType, ListOf, MapOf, Mismatch, Nested, StepType
from wfc.language.shape import INPUT_TYPE, INPUT_TYPES
from wfc.language.steps.base import HANDLERS, OnErrorType
from wfc.rules.shared.scalar_hints import SCALAR_ADVICE, Advice
from wfc.rules.shared.wording import flow
from wfc.suggest import nearest
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence
from wfc.yaml.explain import excerpt

_TYPE_NAMES = {
    "string": ("str", "text", "char", "date", "path", "url", "enum", "choice"),
    "number": ("float", "double", "decimal", "numeric"),
    "integer": ("int", "long", "whole", "count"),
    "boolean": ("bool", "flag"),
    "array": ("list", "sequence", "tuple", "set"),
    "object": ("dict", "map", "mapping", "record", "json", "struct"),
}
_TYPE_OF = {name: kind for kind, names in _TYPE_NAMES.items() for name in names}


class Hints:
    """Advice on what stands in one field."""

    def __init__(self, entry: Entry, kind: FieldType[Any]) -> None:
        self._key = entry.key.text
        self._parts = {id(node.span): (node, inner) for node, inner in _parts(entry.value, kind)}
        self._whole = (entry.value, kind)

    def on(self, bad: Mismatch) -> str:
        """The best advice there is for a value that the field does not take."""
        node, kind = self._parts.get(id(bad.span), self._whole)
        return next((text for advise in _ADVICE if (text := advise(self._key, kind, node))), bad.help)


def _parts(value: Node, kind: FieldType[Any]) -> Iterator[tuple[Node, FieldType[Any]]]:
    """What stands in a list or mapping, each with what its place takes."""
    if isinstance(kind, ListOf) and isinstance(value, Sequence):
        yield from ((item, kind.item) for item in value.items)
    elif isinstance(kind, MapOf) and isinstance(value, Mapping):
        for entry in value.entries:
            yield from ((entry.key, kind.key or kind.item), (entry.value, kind.item))
            yield from _parts(entry.value, kind.item)
    yield value, kind


def _brackets(key: str, kind: FieldType[Any], node: Node) -> str:
    if not isinstance(kind, ListOf) or isinstance(kind.item, StepType) or not isinstance(node, Scalar):
        return ""
    if node.value is None:
        return f"write `{key}: []`, or leave it out" if not kind.least else ""
    items = [part.strip() for part in node.text.split(",")]
    is_short = len(node.text) <= 60 and "{{" not in node.text and all(items)
    return f"write a list: `{key}: {flow(items)}`" if is_short else "write a list: `[...]`"


def _steps(key: str, kind: FieldType[Any], node: Node) -> str:
    if isinstance(kind, StepType):
        return "a step is a mapping: `- id: ...`, and on the next lines `type: ...` and its fields"
    if kind not in (STEPS, BLOCK) or isinstance(node, Sequence):
        return ""
    return "write a list: each step begins with `- id: ...`"


def _input_type(key: str, kind: FieldType[Any], node: Node) -> str:
    word = node.text.strip().lower() if isinstance(node, Scalar) else ""
    if kind is INPUT_TYPE:
        found = _TYPE_OF.get(word)
        return f"did you mean `{found}`?" if found else ""
    if not isinstance(kind, Nested) or kind.schema() != _AN_INPUT:
        return ""
    found = word if word in INPUT_TYPES else _TYPE_OF.get(word)
    return f"write `{{type: {found}}}`" if found else "write a mapping: `{type: string}`"


def _failure(key: str, kind: FieldType[Any], node: Node) -> str:
    if isinstance(kind, Nested) and kind.schema() == _A_RETRY and isinstance(node, Scalar):
        count = node.value if isinstance(node.value, int) and node.value is not True and node.value > 0 else 3
        return f"write `{key}: {{max_attempts: {count}}}`"
    if not isinstance(kind, OnErrorType) or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    if node.text.strip().lower() in ("retry", "again"):
        return "to try again, add `retry: {max_attempts: 3}` to the step"
    near = nearest(node.text, HANDLERS)
    if near:
        return f"did you mean `{near}`?"
    return f"to go on with a step, write `{{goto: {excerpt(node.text)}}}`"


def _nothing(key: str, kind: FieldType[Any], node: Node) -> str:
    is_nothing = isinstance(node, Scalar) and node.value is None and not node.text
    return "write a value, or leave the key out" if is_nothing else ""


_A_RETRY = {"$ref": "#/definitions/Retry"}
_AN_INPUT = {"$ref": "#/definitions/InputDecl"}
_ADVICE: tuple[Advice, ...] = (*SCALAR_ADVICE, _brackets, _steps, _input_type, _failure, _nothing)
