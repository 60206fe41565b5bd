"""Short spellings of results, as a person would write them."""

from __future__ import annotations

from typing import Any

_SHELL = {"stdout": "", "stderr": "", "exit_code": 0}


def fill(kind: str, schema: Any, value: Any) -> Any:
    """The result that a value stands for, for a step of this type with this result schema."""
    if reports_failure(value):
        return value
    if kind == "shell":
        if isinstance(value, dict):
            return {**_SHELL, **value}
        return {**_SHELL, "stdout": value} if isinstance(value, str) else value
    if isinstance(value, dict) or not isinstance(schema, dict) or schema.get("type") != "object":
        return value
    required = schema.get("required")
    return {required[0]: value} if isinstance(required, list) and len(required) == 1 else value


def reports_failure(value: Any) -> bool:
    """Whether a result says that the step could not be done: it need not fit the step's schema."""
    return isinstance(value, dict) and (set(value) == {"error"} or value.get("timed_out") is True)
