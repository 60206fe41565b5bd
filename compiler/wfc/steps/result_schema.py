"""The `result_schema` field: a JSON Schema, checked as such when the workflow is compiled."""

from __future__ import annotations

from typing import Any

from wfc.core.fields import FieldType, Mismatch, Reader, kind_of, not_json
from wfc.core.values import Constant, Tree
from wfc.structs import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


@struct(eq=False)
class SchemaType(FieldType[Tree]):
    words: str = "a JSON Schema"

    def read(self, node: Node, reader: Reader) -> Tree | None:
        return Constant(node) if isinstance(node, Mapping) else None

    def mismatches(self, node: Node) -> list[Mismatch]:
        if not isinstance(node, Mapping):
            return [Mismatch(node.span, f"expected a JSON Schema (a mapping), found {kind_of(node)}")]
        return not_json(node) or _problems(node)

    def schema(self) -> dict[str, Any]:
        return {"$ref": "http://json-schema.org/draft-07/schema#"}


def _problems(schema: Mapping) -> list[Mismatch]:
    found: list[Mismatch] = []
    for entry in schema.entries:
        match entry.key.text, entry.value:
            case "type", Scalar() as node:
                found += _type_problems(node)
            case "type", Sequence() as nodes:
                found += [bad for item in nodes.items for bad in _type_problems(item)]
            case "properties", Mapping() as properties:
                found += [bad for inner in properties.entries for bad in _nested(inner.value)]
            case "properties", other:
                found.append(Mismatch(other.span, f"`properties` takes a mapping, found {kind_of(other)}"))
            case "items", inner:
                found += _nested(inner)
            case "required" | "enum", node if not isinstance(node, Sequence):
                found.append(Mismatch(node.span, f"`{entry.key.text}` takes a list, found {kind_of(node)}"))
            case (
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minimum" | "maximum"
            ) as key, node if not _number(node):
                found.append(Mismatch(node.span, f"`{key}` takes a number, found {kind_of(node)}"))
    return found


def _nested(node: Node) -> list[Mismatch]:
    if isinstance(node, Mapping):
        return _problems(node)
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return []
    return [Mismatch(node.span, f"expected a JSON Schema (a mapping), found {kind_of(node)}")]


def _type_problems(node: Node) -> list[Mismatch]:
    if (
        isinstance(node, Scalar)
        and node.text in _TYPES
        and (node.value is None or isinstance(node.value, str))
    ):
        return []
    hint = "one of " + ", ".join(f"`{name}`" for name in _TYPES)
    return [Mismatch(node.span, f"{kind_of(node)} is not a JSON Schema type", hint)]


def _number(node: Node) -> bool:
    return (
        isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    )


RESULT_SCHEMA = SchemaType()
