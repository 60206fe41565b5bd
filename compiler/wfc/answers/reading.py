"""From YAML to answers, with every mistake in it at its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wfc.answers.model import Answer, Script
from wfc.answers.nodes import Reader
from wfc.config import CompileLimits
from wfc.diagnostics import Diagnostic
from wfc.yaml import Node, Sequence

_KEYS = ("inputs", "answers")


@dataclass(frozen=True)
class AnswersFile:
    inputs: dict[str, Any] = field(default_factory=dict)
    scripts: dict[str, Script] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    """Where there are any, the rest is not to be used."""


def read_answers(path: str, data: bytes) -> AnswersFile:
    """What a file holds. Whether its steps exist and its results fit is for whoever knows the workflow to say."""
    reader = Reader(path, data, CompileLimits())
    if reader.root is None and not reader.found:
        reader.wrong(reader.start, "the file is empty; it needs the key `answers`")
    found = reader.mapping(reader.root, "an answers file", _KEYS, required=("answers",))
    inputs = read_inputs(reader, found.get("inputs"))
    scripts = read_scripts(reader, found.get("answers"))
    return AnswersFile(inputs, scripts, tuple(reader.found))


def read_inputs(reader: Reader, node: Node | None) -> dict[str, Any]:
    return {name: reader.data(value) for name, (_, value) in reader.entries(node, "`inputs`").items()}


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
