"""The language of blocks as JSON Schema, for editors."""

from __future__ import annotations

from typing import Any

from wfc.dialects.blocks.kinds import KINDS, Kind
from wfc.dialects.blocks.model import (
    Block,
    BlocksFile,
    Dependency,
    InputDeclaration,
    OutputDeclaration,
    WorkflowOutput,
)
from wfc.schema import shape_schema

Schema = dict[str, Any]


def blocks_schema() -> Schema:
    nested = (InputDeclaration, OutputDeclaration, Dependency, WorkflowOutput)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wfc workflow (blocks)",
        **shape_schema(BlocksFile),
        "definitions": {
            "Block": _any_block(),
            **{kind.__name__: shape_schema(kind) for kind in nested},
            **{f"inputs_{name}": shape_schema(kind.inputs) for name, kind in KINDS.items()},
        },
    }


def _any_block() -> Schema:
    """What a block is given depends on its `type`."""
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
