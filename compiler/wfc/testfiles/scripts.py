"""The answers for steps, as answers files and test files have them: read, and short forms written out."""

from __future__ import annotations

from typing import Any

from wfc.struct import struct
from wfc.testfiles.reader import Reader
from wfc.yaml import Node, Sequence, Span

_SHELL = {"stdout": "", "stderr": "", "exit_code": 0}


def fill(kind: str, schema: Any, value: Any) -> Any:
    """The result that a value means for a step of this type with this result schema."""
    if reports_failure(value):
        return value
    if kind == "shell":
        if isinstance(value, dict):
            return {**_SHELL, **value}
        return {**_SHELL, "stdout": value} if isinstance(value, str) else value
    # Imported here: few files are test files, and every check would wait for it.
    from wfc_runtime.reports import STATUSES
    from wfc_runtime.results import is_report

    if is_report(schema) and value in STATUSES:
        return {"status": value, "summary": value}
    if isinstance(value, dict) or not isinstance(schema, dict) or schema.get("type") != "object":
        return value
    # The short form: a plain value stands for the only required property.
    required = schema.get("required")
    return {required[0]: value} if isinstance(required, list) and len(required) == 1 else value


def reports_failure(value: Any) -> bool:
    """Whether a result reports that the step could not be done; it need not match the step's schema."""
    return isinstance(value, dict) and (set(value) == {"error"} or value.get("timed_out") is True)


@struct(frozen=True)
class Answer:
    """One result with its position."""

    value: Any
    span: Span | None = None


@struct(frozen=True)
class Script:
    """The results of one step."""

    answers: tuple[Answer, ...]
    repeats: bool = False
    """One result for every time that the step is asked."""
    span: Span | None = None
    """The position of its key."""


@struct(frozen=True)
class Given:
    """An input of a run with its position."""

    key: Span
    node: Node
    value: Any


def read_inputs(reader: Reader, node: Node | None) -> dict[str, Given]:
    entries = reader.entries(node, "`inputs`")
    return {name: Given(key, value, reader.data(value)) for name, (key, value) in entries.items()}


def read_scripts(reader: Reader, node: Node | None) -> dict[str, Script]:
    """The mapping of steps to their results."""
    found: dict[str, Script] = {}
    for key, (span, value) in reader.entries(node, "`answers`").items():
        if "@" in key:
            step = key.partition("@")[0]
            reader.wrong(span, f"`{key}` names a visit", f"give `{step}` a list, with one result per visit")
        if isinstance(value, Sequence):
            answers = tuple(Answer(reader.data(item), item.span) for item in value.items)
            found[key] = Script(answers, span=span)
        else:
            found[key] = Script((Answer(reader.data(value), value.span),), repeats=True, span=span)
    return found
