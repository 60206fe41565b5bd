"""What a result_schema promises, and what it leaves open."""

from __future__ import annotations

import json

import pytest

from tests.support import check

STEPS = """
name: w
version: "1"
steps:
  - id: ask
    type: delegate
    instructions: Ask.
    result_schema: %s
    output_to: answer
  - {id: end, type: return, needs_state: [answer], value: "{{ state.answer.%s }}"}
"""
A = {
    "type": "object",
    "required": ["alpha"],
    "properties": {"alpha": {"type": "string"}, "beta": {"type": "integer"}},
}


def found(schema: object, path: str) -> list[tuple[str, str]]:
    return [(one.code, one.severity.value) for one in check(STEPS % (json.dumps(schema), path))]


@pytest.mark.parametrize(
    ("more", "path", "expected"),
    [
        ({}, "alpha", []),
        ({}, "alhpa", [("WF206", "error")]),
        ({}, "gamma", [("WF206", "warning")]),
        ({"additionalProperties": False}, "gamma", [("WF206", "error")]),
        ({"additionalProperties": True}, "gamma", []),
        ({"additionalProperties": {"type": "string"}}, "gamma", []),
        ({"anyOf": [{"properties": {"gamma": {}}}]}, "gamma", []),
        ({"$ref": "#/x"}, "gamma.delta", []),
        ({}, "beta", [("WF223", "warning")]),
        ({"required": []}, "beta", [("WF223", "info")]),
        ({}, "beta | default(0)", []),
        ({}, "alpha.strip().foo", [("WF206", "error")]),
    ],
)
def test_a_property_is_held_against_the_schema(more: object, path: str, expected: object) -> None:
    assert isinstance(more, dict)
    assert found({**A, **more}, path) == expected


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"$ref": "#/x"}, {"oneOf": [A]}, {"const": 3}])
def test_a_schema_that_says_nothing_of_properties_allows_them_all(schema: object) -> None:
    assert found(schema, "whatever.it.is") == []
