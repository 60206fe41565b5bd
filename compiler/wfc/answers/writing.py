"""Answers as the text of an answers file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._/-]*[A-Za-z0-9._/-]|[A-Za-z]")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Text that some reader of YAML takes for something else."""


class _Dumper(yaml.SafeDumper):
    """Text is quoted unless it can be nothing else: PyYAML quotes for YAML 1.1, and files are read as 1.2."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = '"'
    if "\n" in text.rstrip("\n") and _is_block(text):
        style = "|"
    elif _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        style = ""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style or None)


def _is_block(text: str) -> bool:
    return all(line.isprintable() and line == line.rstrip() for line in text.split("\n")) and text[0] != " "


_Dumper.add_representer(str, _text)


def write_answers(inputs: Mapping[str, Any], answers: Mapping[str, Sequence[Any]]) -> str:
    """The text of an answers file: for each step its results, in the order in which it is asked."""
    return _dump(_case(inputs, answers))


def write_tests(
    workflow: str, cases: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Sequence[Any]]]]
) -> str:
    """The text of a test file for a workflow file: names, inputs and answers. Each of them has to complete."""
    tests = [{"name": name, **_case(inputs, answers)} for name, inputs, answers in cases]
    return _dump({"workflow": workflow, "tests": tests})


def _case(inputs: Mapping[str, Any], answers: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    written = {key: _script(list(results)) for key, results in answers.items()}
    return {**({"inputs": dict(inputs)} if inputs else {}), "answers": written}


def _dump(data: Any) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _script(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 and not isinstance(results[0], list) else results
