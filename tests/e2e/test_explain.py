"""`wfc explain`, as a person calls it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from tests.e2e.command import Result, wfc
from wfc.language.steps import STEP_TYPES
from wfc.rules import RULES


@cache
def explain(*arguments: str) -> Result:
    return wfc("explain", *arguments, cwd=Path(__file__).parent)


def test_a_check_is_explained_by_its_code() -> None:
    done = explain("WF301")
    assert done.status == 0
    title, _, page = done.out.partition("\n")
    assert title == "WF301 needs-state-missing (error, fixable with `wfc check --fix`)"
    assert "Bad:" in page
    assert "Good:" in page


@pytest.mark.parametrize("topic", ["wf301", "needs-state-missing", "needs_state_missing"])
def test_a_check_is_found_by_its_name_and_in_small_letters(topic: str) -> None:
    assert explain(topic).out == explain("WF301").out


def test_a_check_without_a_fix_says_so() -> None:
    assert explain("WF101").out.startswith("WF101 duplicate-id (error, no automatic fix)\n")


def test_a_step_type_is_explained_with_its_fields_and_its_result() -> None:
    lines = explain("shell").out.splitlines()
    assert lines[0] == "shell (step type)"
    assert '  command: "npm test -- {{ inputs.suite | shquote }}"' in lines
    assert any(line.split()[:2] == ["command", "required"] for line in lines)
    assert any(line.split()[:3] == ["timeout", "default", "30"] for line in lines)
    result = lines.index("Result with `runner: agent`")
    assert lines[result + 1 : result + 6] == [
        "  stdout     text",
        "  stderr     text",
        "  exit_code  int",
        "  duration   number  may be left out",
        "  timed_out  bool    may be left out",
    ]


def test_a_prompt_has_a_result_for_each_of_its_kinds() -> None:
    shown = explain("prompt").out
    for kind, answer in [
        ("info", "acknowledged"),
        ("confirm", "confirmed"),
        ("text", "input"),
        ("choice", "selected"),
    ]:
        assert f"Result with `prompt_type: {kind}`\n  {answer}  " in shown


def test_without_a_topic_everything_is_listed() -> None:
    shown = explain().out
    assert all(f"  {rule.code}  {rule.name} " in shown for rule in RULES)
    assert all(f"\n  {kind} " in shown for kind in STEP_TYPES)
    assert max(map(len, shown.splitlines())) <= 100


def test_an_unknown_topic_is_wrong_usage_and_gets_a_suggestion() -> None:
    done = explain("needs-state-mising")
    assert done.status == 2
    assert done.out == ""
    assert (
        "there is no check or step type `needs-state-mising`; did you mean `needs-state-missing`?" in done.err
    )
    assert "`wfc explain` lists them all" in explain("frobnicate").err


def test_json_holds_the_same_as_data() -> None:
    check = json.loads(explain("WF301", "--json").out)
    assert {key: check[key] for key in ("kind", "code", "name", "severity", "fix")} == {
        "kind": "check",
        "code": "WF301",
        "name": "needs-state-missing",
        "severity": "error",
        "fix": "safe",
    }
    assert check["doc"].startswith(check["summary"])
    step = json.loads(explain("--json", "delegate").out)
    fields = {field["name"]: field for field in step["fields"]}
    assert fields["instructions"]["required"]
    assert fields["timeout"]["default"] == 300
    assert [prop["name"] for prop in step["results"][0]["properties"]] == [
        "response",
        "agent_used",
        "tokens_used",
    ]
    everything = json.loads(explain("--json").out)
    assert [rule["code"] for rule in everything["checks"]] == [rule.code for rule in RULES]
    assert [step["name"] for step in everything["steps"]] == list(STEP_TYPES)


def test_a_code_that_no_check_has_is_not_taken_for_another() -> None:
    done = explain("WF999")
    assert done.status == 2
    assert "there is no check or step type `WF999`; `wfc explain` lists them all" in done.err
