"""`wfc explain`, as a person calls it."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from tests.e2e.command import Result, wfc
from wfc import config
from wfc.cli.shared.words import words
from wfc.language.steps import STEP_TYPES
from wfc.rules import RULES
from wfc_runtime.expr import FILTERS, FUNCTIONS, TESTS
from wfc_runtime.machine.values import Limits


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
        "  duration   number  optional",
        "  timed_out  bool    optional",
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
    assert "nothing is called `needs-state-mising`; did you mean `needs-state-missing`?" in done.err
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
    # The task is in `instructions` or in `instructions_file`.
    assert [name for name, field in fields.items() if field["required"]] == ["id", "type"]
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
    assert "nothing is called `WF999`; `wfc explain` lists them all" in done.err


@pytest.mark.parametrize(
    ("topic", "title", "part"),
    [
        ("retry", "retry (field)", "  max_attempts   required "),
        ("needs_state", "needs_state (field)", "every step type"),
        ("output-to", "output_to (field)", "The state field that gets the result."),
        ("fails_on_exit", "fails_on_exit (field)", "  of       shell"),
        ("initial_state", "initial_state (field)", "a workflow"),
        ("max_attempts", "max_attempts (field)", "`retry`"),
        ("tojson", "tojson (filter)", "as JSON text"),
        ("defined", "defined (test)", "`x is defined`"),
        ("now", "now (function)", "`now()`"),
        ("allow-exec", "exec.allow (setting of [tool.wfc])", "--allow-exec"),
        ("exec.allow", "exec.allow (setting of [tool.wfc])", "--allow-exec"),
        ("tool.wfc.exec.write", "exec.write (setting of [tool.wfc])", "--allow-write"),
        ("result_bytes", "run_limits (setting of [tool.wfc])", "`result_bytes`"),
        ("require_agent", "journal (setting of [tool.wfc])", "`require_agent`"),
        ("plugins", "plugins (setting of [tool.wfc])", "own-blocks.md"),
    ],
)
def test_fields_filters_tests_functions_and_settings_are_explained(topic: str, title: str, part: str) -> None:
    done = explain(topic)
    assert done.status == 0, done.err
    assert done.out.splitlines()[0] == title
    assert part in done.out
    data = json.loads(explain(topic, "--json").out)
    assert data["meanings"][0]["name"] == title.split()[0]


def test_a_word_with_several_meanings_has_a_page_for_each() -> None:
    titles = [
        line for line in explain("default").out.splitlines() if line.startswith(("default (", "agents."))
    ]
    assert titles == [
        "default (field)",  # of a prompt
        "default (field)",  # of an input
        "default (filter)",
        "agents.default (setting of [tool.wfc])",
    ]
    engine = explain("engine").out
    assert engine.startswith("engine (field)\n\nThe kind of database.\n")
    assert "\nengine (setting of [tool.wfc])\n\nWhere runs are stored: `sqlite`" in engine
    assert "`temporal`" in engine


@pytest.mark.parametrize(
    ("slip", "meant"), [("retrry", "retry"), ("tojsn", "tojson"), ("exec.alow", "exec.allow")]
)
def test_a_misspelt_word_gets_a_suggestion(slip: str, meant: str) -> None:
    assert f"nothing is called `{slip}`; did you mean `{meant}`?" in explain(slip).err


def test_every_setting_that_is_read_is_explained() -> None:
    known = {one.name for one in words() if one.kind == "setting"}
    tables = {"exec": config._EXEC_SETTINGS, "agents": config._AGENT_SETTINGS}
    every = {*config._SETTINGS, *(f"{table}.{key}" for table, keys in tables.items() for key in keys)}
    assert known == every
    text = {one.name: one.doc for one in words() if one.kind == "setting"}
    assert all(f"`{one}`" in text["limits"] for one in config.CompileLimits.__annotations__)
    limits = [one.name for one in fields(Limits) if one.name not in ("expressions", "grace_seconds")]
    assert all(f"`{name}`" in text["run_limits"] for name in limits)


def test_every_field_filter_test_and_function_of_the_language_page_is_explained() -> None:
    names = {one.name for one in words()}
    assert {*FILTERS, *FUNCTIONS, *TESTS} <= names
    assert {name for kind in STEP_TYPES.values() for name in kind.FIELDS} <= names


def test_a_step_type_that_is_a_field_too_is_explained_as_both(tmp_path: Path) -> None:
    shown = wfc("explain", "goto", cwd=tmp_path).out
    assert shown.startswith("goto (step type)")
    assert "goto (field)" in shown
