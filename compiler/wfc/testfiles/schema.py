"""The JSON Schema of test files, for editors. `wfc check` finds more: it compares a test with its workflow."""

from __future__ import annotations

from typing import Any

_INPUTS = {
    "type": "object",
    "description": "What the run starts with, by the name of the input. Those of a test override those of the file.",
}
_ANSWERS = {
    "type": "object",
    "description": "The results of steps, by the step's id, or by `scope/id` with its task or called workflow. "
    "A list has one result for each time that the step is asked; any other value serves every time.",
    "examples": [{"build": {"exit_code": 1}, "approve": [False, True], "deploy": {"error": "no network"}}],
    "propertyNames": {"pattern": "^[^@]*$"},
}
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_ACTION = {
    "description": "Text: the command, message, instructions or tool, as a whole. A mapping: parameters that the "
    "action must have, of which mappings need only have the keys that are named. Null: it is asked, whatever it says.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "contains": {
                    **_TEXTS,
                    "description": "Parts of the command, message, instructions or tool.",
                }
            },
        },
        {"type": "null"},
    ],
}
_ACTIONS = {
    "description": "A mapping: what some steps ask, by id; a list has one entry for each time, and none where the "
    "step is never asked. A list: all actions of the run in order, each an id or `id: action`.",
    "anyOf": [
        {
            "type": "object",
            "additionalProperties": {"anyOf": [_ACTION, {"type": "array", "items": _ACTION}]},
        },
        {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "minProperties": 1,
                        "maxProperties": 1,
                        "additionalProperties": _ACTION,
                    },
                ]
            },
        },
    ],
}
_FAILURE = {
    "description": "The run fails. Text is part of the message; an empty mapping is any failure.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "step": {"type": "string", "description": "The id of the step that failed."},
                "code": {"type": "string", "description": "Such as `agent_error`, `timeout` or `exit_code`."},
                "message": {"type": "string", "description": "Part of the message."},
            },
        },
    ],
}
_EXPECT = {
    "type": "object",
    "description": "What the run must do. Without `failure` it has to complete.",
    "additionalProperties": False,
    "not": {"required": ["result", "failure"]},
    "properties": {
        "result": {"description": "The value that the run returns, as a whole."},
        "state": {
            "type": "object",
            "description": "State fields at the end, each as a whole. Fields that are not named may have any value.",
        },
        "failure": _FAILURE,
        "actions": _ACTIONS,
    },
}
_TEST = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {
            "type": "string",
            "description": "The expected behaviour, as a sentence. Each name occurs once in a file.",
        },
        "inputs": _INPUTS,
        "answers": {**_ANSWERS, "description": f"{_ANSWERS['description']} All of them must be used."},
        "now": {
            "type": "string",
            "description": "What now() returns when the run starts. Waits and retries take no time.",
            "examples": ["2026-01-05T09:00:00Z"],
        },
        "expect": _EXPECT,
    },
}


def schema_of_tests() -> dict[str, Any]:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tests of a wfc workflow",
        "type": "object",
        "required": ["tests"],
        "additionalProperties": False,
        "properties": {
            "workflow": {
                "type": "string",
                "description": "The workflow file, relative to this one. By default, `x.test.yaml` tests `x.yaml`.",
            },
            "inputs": {**_INPUTS, "description": "Inputs of every test."},
            "answers": {
                **_ANSWERS,
                "description": f"{_ANSWERS['description']} For every test; not all need be used.",
            },
            "tests": {"type": "array", "minItems": 1, "items": _TEST},
        },
    }
