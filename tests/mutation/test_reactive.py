"""Mistakes that fit the reactive language, in each of our own reactive workflows: each is caught."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.support import ROOT, check
from wfc.findings import Severity

FILES = ("standards-fix", "changelog-draft", "deps-audit", "tests-until-green")

MISTAKES: dict[str, tuple[str, str, str]] = {
    # What is replaced, by what, and the codes that may report it.
    "a field of a path is misspelt": (r"path: (\"?)raw\.(\w)(\w)", r"path: \1raw.\3\2\2", "WF318 WF304"),
    "a path names no tier": (r"path: (\"?)raw\.", r"path: \1", "WF315"),
    "a path names a tier that is none": (r"path: (\"?)raw\.", r"path: \1rwa.", "WF315"),
    "a source is misspelt": (r"from: raw\.(\w+)", r"from: raw.\1x", "WF304"),
    "a computed source is misspelt": (r"computed\.(\w+)", r"computed.\1x", "WF202"),
    "a transform reads the clock": (r"transform: \"", r'transform: "Date.now() && ', "WF220"),
    "a transform has no end": (r"(transform: \".*)\)\"", r'\1"', "WF201"),
    "a step type is misspelt": (
        r"type: (user_message|shell_command|parallel_foreach)",
        r"type: \1s",
        "WF007",
    ),
    "a task is misspelt": (r"sub_agent_task: (\w+)", r"sub_agent_task: \1s", "WF102"),
    "an input is not quoted": (r"\{\{ shquote\((inputs\.\w+)\) \}\}", r"{{ \1 }}", "WF501"),
    "an operation is misspelt": (r"operation: (\w+)", r"operation: \1s", "WF006"),
    "a brace is missing": (r"\"\{\{ ([\w.]+) \}\}\"", r'"{{ \1 }"', "WF201"),
    "a bare name is misspelt": (r"\{\{ (files|draft|subjects|batches) \}\}", r"{{ \1x }}", "WF202"),
    "a property of a list is misspelt": (r"(condition: .*\w)\.length", r"\1.lenght", "WF206 WF209 WF203"),
    "an arrow returns a block": (r"=> \(\{", r"=> {", "WF221 WF201"),
    "an output format is misspelt": (r"output_format: lines", "output_format: line", "WF006"),
    "the default of an input does not fit": (
        r"type: number(.*)default: (\d+)",
        r"type: number\1default: x",
        "WF011",
    ),
}


@cache
def _original(name: str) -> str:
    return (ROOT / "workflows" / f"{name}.yaml").read_text(encoding="utf-8")


@cache
def _codes(text: str) -> frozenset[str]:
    return frozenset(one.code for one in check(text) if one.severity is not Severity.INFO)


def _mutants(what: str) -> Iterator[str]:
    wrong, right, _ = MISTAKES[what]
    for name in FILES:
        text = _original(name)
        # The first place of each file: all of them would take long, and find no more.
        found = re.search(wrong, text)
        if found is not None:
            yield text[: found.start()] + found.expand(right) + text[found.end() :]


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_in_a_reactive_workflow_is_caught(what: str) -> None:
    expected = set(MISTAKES[what][2].split())
    mutants = list(_mutants(what))
    assert mutants, "no workflow has a place for it"
    missed = [text for text in mutants if not _codes(text) & expected]
    assert not missed, [sorted(_codes(text)) for text in missed]


def test_our_reactive_workflows_have_none_of_these_findings() -> None:
    assert {name: _codes(_original(name)) for name in FILES} == {name: frozenset() for name in FILES}
