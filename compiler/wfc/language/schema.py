"""The language as JSON Schema (draft-07), for editors: made from the same fields that the compiler reads by.

A schema knows shapes only. References, types and flow are for `wfc check` and the language server.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc
from typing import Any

from wfc.language.ast import Task, Workflow
from wfc.language.changes import Update
from wfc.language.derived import Derivation
from wfc.language.shape import Budget, Field, InputDecl, Shape, Validation
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Recovery, Retry, Step
from wfc.language.steps.foreach import ChildErrors
from wfc.language.steps.prompt import Option, Question
from wfc.language.steps.shell import FileOutput

Schema = dict[str, Any]


def steps_schema() -> Schema:
    """The schema of a file in the steps language."""
    nested: tuple[type[Shape], ...] = (
        *(Task, InputDecl, Validation, Derivation, Update),
        *(Retry, Recovery, Budget, FileOutput, Option, Question, ChildErrors),
    )
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wfc workflow (steps)",
        **shape_schema(Workflow),
        "definitions": {
            "Step": _any_step(STEP_TYPES),
            **{kind.__name__: shape_schema(kind) for kind in nested},
            **{f"step_{name}": _step(kind) for name, kind in STEP_TYPES.items()},
        },
    }


def shape_schema(kind: type[Shape]) -> Schema:
    """The schema of a shape: for each field its type, description, default and example."""
    schema: Schema = {
        "type": "object",
        "description": cleandoc(kind.__doc__ or ""),
        "properties": {name: _field(field) for name, field in kind.FIELDS.items()},
        "additionalProperties": False,
    }
    required = [name for name, field in kind.FIELDS.items() if field.required]
    if kind.ONE_OF:
        schema["anyOf"] = [{"required": [name]} for name in kind.ONE_OF]
    return {**schema, "required": required} if required else schema


def _field(field: Field[Any]) -> Schema:
    schema = field.type.schema()
    # Draft-07 ignores the keywords beside a `$ref`.
    described: Schema = {"allOf": [schema]} if "$ref" in schema else schema
    described["description"] = field.doc
    if field.default is not None:
        described["default"] = field.default
    if field.example is not None:
        described["examples"] = [field.example]
    return described


def _step(kind: type[Step]) -> Schema:
    schema = shape_schema(kind)
    schema["properties"]["type"] = {"const": kind.kind, "description": _first_paragraph(kind)}
    return {**schema, **kind.shape_rules}


def _any_step(kinds: Mapping[str, type[Step]]) -> Schema:
    """The schema of any step. It has one branch per `type`, so an editor reports only the fields of that type."""
    described = [{"const": name, "description": _first_paragraph(kind)} for name, kind in kinds.items()]
    return {
        "type": "object",
        "description": "One step of a workflow.",
        "required": ["id", "type"],
        "properties": {
            "id": _field(Step.FIELDS["id"]),
            "type": {"description": "The kind of step.", "enum": list(kinds), "anyOf": described},
        },
        "allOf": [
            {
                "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                "then": {"$ref": f"#/definitions/step_{name}"},
            }
            for name in kinds
        ],
    }


def _first_paragraph(kind: type[Step]) -> str:
    return " ".join(cleandoc(kind.__doc__ or "").split("\n\n")[0].split())
