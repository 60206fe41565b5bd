"""The reactive language as JSON Schema, for editors."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

from wfc.dialects.reactive.kinds import KINDS, Handling, ReactiveStep, ToolCall, Update
from wfc.dialects.reactive.model import (
    ComputedField,
    DefaultState,
    ErrorCollection,
    HighUsage,
    InputDeclaration,
    ReactiveFile,
    Rules,
    RunConfig,
    StateSchema,
    SubAgentErrors,
    Task,
    TaskErrors,
    WorkflowErrors,
)
from wfc.language.schema import shape_schema
from wfc.language.shape import Budget, Shape

Schema = dict[str, Any]

_OPEN: tuple[type[Shape], ...] = (DefaultState, RunConfig)
"""Mappings that take keys which the language does not name: fields in their old spelling, and settings for tools."""


def reactive_schema() -> Schema:
    nested: tuple[type[Shape], ...] = (
        Budget,
        ComputedField,
        DefaultState,
        ErrorCollection,
        Handling,
        HighUsage,
        InputDeclaration,
        Rules,
        RunConfig,
        StateSchema,
        SubAgentErrors,
        Task,
        TaskErrors,
        ToolCall,
        Update,
        WorkflowErrors,
    )
    whole = shape_schema(ReactiveFile)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wfc workflow (reactive)",
        "anyOf": [
            {"$ref": "#/definitions/ReactiveFile"},
            {
                "type": "object",
                "required": ["workflow"],
                "properties": {
                    "workflow": {"$ref": "#/definitions/ReactiveFile"},
                    "imports": {"type": "array", "items": {"type": "string"}},
                },
                "additionalProperties": False,
            },
        ],
        "definitions": {
            "ReactiveFile": whole,
            "Step": _any_step(),
            **{kind.__name__: _shape(kind) for kind in nested},
            **{f"step_{name}": _step(kind) for name, kind in KINDS.items()},
        },
    }


def _shape(kind: type[Shape]) -> Schema:
    schema = shape_schema(kind)
    return {**schema, "additionalProperties": True} if kind in _OPEN else schema


def _step(kind: type[ReactiveStep]) -> Schema:
    schema = shape_schema(kind)
    schema["properties"]["type"] = {"const": kind.kind, "description": _summary(kind)}
    if kind.ONE_OF:
        schema["anyOf"] = [{"required": [name]} for name in kind.ONE_OF]
    return schema


def _any_step() -> Schema:
    """The schema of any step. It has one branch per `type`, so an editor reports only the fields of that type."""
    described = [{"const": name, "description": _summary(kind)} for name, kind in KINDS.items()]
    return {
        "type": "object",
        "description": "One step of a workflow.",
        "required": ["type"],
        "properties": {"type": {"description": "The kind of step.", "enum": list(KINDS), "anyOf": described}},
        "allOf": [
            {
                "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                "then": {"$ref": f"#/definitions/step_{name}"},
            }
            for name in KINDS
        ],
    }


def _summary(kind: type[ReactiveStep]) -> str:
    return " ".join(cleandoc(kind.__doc__ or "").split("\n\n")[0].split())
