"""`wfc plan`, as text for people and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support import ROOT
from wfc.cli.main import cli

PROJECT = """\
name: release
version: "2.0.0"
steps:
  - {id: build, type: shell, command: make -j, output_to: built, timeout: 120,
     retry: {max_attempts: 2, delay_seconds: 5}}
  - id: check
    type: condition
    needs_state: [built]
    if: "{{ state.built.exit_code != 0 }}"
    then:
      - {id: stop, type: return, value: no}
  - {id: open, type: mcp_call, tool: github.create_release, timeout: 3600, on_error: continue}
  - {id: review, type: delegate, agent: "@reviewer", instructions: "Look at it."}
  - {id: settle, type: wait, duration_seconds: 90}
  - {id: ask, type: prompt, prompt_type: confirm, message: "Ship?"}
  - id: poll
    type: while
    needs_state: [built]
    if: "{{ state.built.exit_code == 7 }}"
    max_iterations: 3
    steps:
      - {id: skip, type: continue, needs_state: [built], when: "{{ state.built.exit_code == 8 }}"}
      - {id: leave, type: break, needs_state: [built], when: "{{ state.built.exit_code == 9 }}"}
      - {id: look, type: shell, command: make look, output_to: built}
"""


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, ["plan", *arguments], standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.return_value, done.stdout, done.stderr


def plan(*arguments: str) -> dict[str, Any]:
    status, out, _ = run(*arguments, "--json")
    assert status == 0
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    path = tmp_path / "release.yaml"
    path.write_text(PROJECT, encoding="utf-8")
    return str(path)


def test_the_plan_says_what_is_needed_and_what_is_waited_for(file: str) -> None:
    found = plan(file)
    assert found["actions"] == {"least": 1, "most": 8}
    assert found["needs"] == {
        "tools": ["github.create_release"],
        "agents": ["@reviewer"],
        "commands": [
            {"step": "build", "line": 4, "command": "make -j"},
            {"step": "look", "line": 24, "command": "make look"},
        ],
    }
    assert found["waits"] == {
        "person": [{"step": "ask", "line": 15, "prompt_type": "confirm"}],
        "time": [
            {"step": "build", "line": 4, "seconds": 5, "before": "retry"},
            {"step": "settle", "line": 14, "seconds": 90},
        ],
    }
    assert [(one["step"], one["seconds"]) for one in found["timeouts"]] == [
        ("open", 3600),
        ("review", 300),
        ("build", 120),
        ("look", 30),
    ]


def test_every_step_has_its_type_and_every_branch_where_it_leads(file: str) -> None:
    found = plan(file)
    assert [(step["id"], step["type"]) for step in found["steps"]] == [
        ("build", "shell"),
        ("check", "condition"),
        ("stop", "return"),
        ("open", "mcp_call"),
        ("review", "delegate"),
        ("settle", "wait"),
        ("ask", "prompt"),
        ("poll", "while"),
        ("skip", "continue"),
        ("leave", "break"),
        ("look", "shell"),
    ]
    assert [(one["step"], one["kind"], one["then"], one.get("else")) for one in found["branches"]] == [
        ("check", "condition", "stop", "open"),
        ("open", "on_error", "review", None),
        ("poll", "while", "skip", "finished"),
        ("skip", "when", "skip", "leave"),
        ("leave", "when", "leave", "look"),
    ]


def test_the_text_is_aligned_plain_and_complete(file: str) -> None:
    status, out, err = run(file)
    assert (status, err) == (0, "")
    assert "\x1b" not in out
    lines = out.splitlines()
    assert lines[0] == f"release 2.0.0  {file}"
    assert "actions   1 to 8" in lines
    assert "timeouts  1 h     open" in lines
    assert "          5 min   review" in lines
    assert "person    ask:15  confirm" in lines
    assert "   4  build   shell      up to 2 attempts; writes built" in lines
    assert "        if {{ state.built.exit_code == 7 }} -> skip, at most 3 times, else -> the end" in lines


def test_the_plan_of_a_caller_names_what_the_called_workflows_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = plan("ship-release")
    assert {"step": "confirm-production", "workflow": "deploy-service"}.items() <= next(
        one for one in found["waits"]["person"] if one["step"] == "confirm-production"
    ).items()
    assert "@security-reviewer" in found["needs"]["agents"]


def test_a_workflow_with_an_error_has_no_plan(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(PROJECT.replace("needs_state: [built]\n    if", "if"), encoding="utf-8")
    status, out, err = run(str(path))
    assert (status, out) == (1, "")
    assert "error[WF301 needs-state-missing]" in err


def test_a_loop_over_a_list_of_any_length_is_named_as_the_reason_why_there_is_no_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    _, out, _ = run("deps:audit")
    assert "no limit: update_minor repeats its steps for each item of a list\n" in out
    assert "on_error jumps back" not in out
