"""The language of blocks as JSON Schema, for editors."""

from __future__ import annotations

from typing import Any

from wfc.dialects.blocks.file import (
    Block,
    BlocksFile,
    Dependency,
    InputDeclaration,
    OutputDeclaration,
    WorkflowOutput,
)
from wfc.dialects.blocks.kinds import KINDS, NUMBER_TEXT, TRUTH, Kind
from wfc.language.schema import shape_schema
from wfc.language.shape import Budget
from wfc.language.steps.base import Retry

Schema = dict[str, Any]


_WORDS = [form for word in TRUTH for form in (word, word.capitalize(), word.upper())]
_SPELT = {
    "boolean": [{"type": "boolean"}, {"enum": _WORDS}],
    "number": [{"type": "number"}, {"type": "string", "pattern": f"^(?:{NUMBER_TEXT.pattern})$"}],
}


def blocks_schema() -> Schema:
    nested = (InputDeclaration, OutputDeclaration, Dependency, WorkflowOutput)
    inputs = {f"inputs_{name}": _as_spelt(shape_schema(kind.inputs)) for name, kind in KINDS.items()}
    inputs["inputs_Shell"]["properties"]["custom_outputs"] = {
        "type": "object",
        "additionalProperties": {"$ref": "#/definitions/OutputDeclaration"},
        "description": "Deprecated: the same as `outputs` of the block.",
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wfc workflow (blocks)",
        **shape_schema(BlocksFile),
        "definitions": {
            "Block": _any_block(),
            **{kind.__name__: _as_spelt(shape_schema(kind)) for kind in nested},
            "Retry": shape_schema(Retry),
            "Budget": shape_schema(Budget),
            **inputs,
        },
    }


def _as_spelt(schema: Schema) -> Schema:
    """The schema, extended by the texts that `wfc.dialects.blocks.kinds` reads as booleans and numbers."""
    found: Schema = {}
    for name, value in schema.items():
        if name == "type" and isinstance(value, str) and value in _SPELT:
            found["anyOf"] = _SPELT[value]
        elif isinstance(value, dict):
            found[name] = _as_spelt(value)
        elif name == "anyOf":
            found[name] = [_as_spelt(one) for one in value]
        else:
            found[name] = value
    return found


def _any_block() -> Schema:
    """The schema of a block. The schema of its inputs depends on its `type`."""
    schema = shape_schema(Block)
    schema["properties"]["type"]["enum"] = list(KINDS)
    schema["allOf"] = [
        {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": _inputs(name, kind)}
        for name, kind in KINDS.items()
    ]
    return schema


def _inputs(name: str, kind: Kind) -> Schema:
    needed = any(field.required for field in kind.inputs.FIELDS.values())
    then: Schema = {"properties": {"inputs": {"$ref": f"#/definitions/inputs_{name}"}}}
    return {**then, "required": ["inputs"]} if needed else then
