"""`wfc run FILE`, and the workflows that the file calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import wfc

PARENT = """\
name: parent
description: Calls another workflow twice, where it is told to.
inputs:
  all: {type: bool, default: false}
blocks:
  - {id: one, type: Workflow, condition: "${inputs.all}", inputs: {workflow: child}}
  - {id: two, type: Workflow, condition: "${inputs.all}", inputs: {workflow: child}}
outputs:
  skipped: ${blocks.one.skipped}
"""
BROKEN = """\
name: child
description: Reads what is not there.
blocks:
  - {id: gone, type: EchoBlock, inputs: {message: "${blocks.nobody.stdout}"}}
"""


@pytest.fixture
def parent(tmp_path: Path) -> str:
    (tmp_path / "child.yaml").write_text(BROKEN)
    (tmp_path / "parent.yaml").write_text(PARENT)
    return "parent.yaml"


def test_a_called_workflow_with_errors_is_told_once_and_harms_no_run_that_leaves_it_out(
    parent: str, tmp_path: Path
) -> None:
    done = wfc("run", parent, "--allow-exec", "--json", cwd=tmp_path)
    assert (done.status, json.loads(done.out)["result"]) == (0, {"skipped": "true"})
    assert done.err.count("error[WF202 undefined-name]") == 1
    assert "completed after 0 actions: outputs" in done.err
    assert "note: a call of `child` would fail" in done.err


def test_a_run_that_comes_to_it_fails_there(parent: str, tmp_path: Path) -> None:
    done = wfc("run", parent, "-i", "all=true", "--allow-exec", "--json", cwd=tmp_path)
    error = json.loads(done.out)["error"]
    assert (done.status, error["code"], error["step_id"]) == (1, "child_failed", "one")
    assert "`child` has errors" in error["message"]


def test_a_workflow_that_is_not_there_is_missed_only_where_the_run_comes_to_it(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(PARENT)
    made = wfc("compile", "parent.yaml", "-o", "modules", cwd=tmp_path)
    assert (
        made.status,
        made.err.count("warning[WF111 unknown-workflow]") + made.out.count("warning[WF111 unknown-workflow]"),
    ) == (0, 2)
    done = wfc("run", "parent.yaml", "--allow-exec", "--json", cwd=tmp_path)
    assert (done.status, json.loads(done.out)["result"]) == (0, {"skipped": "true"})
    assert done.err.count("note: there is no workflow `child`, so a call of it would fail") == 1
    assert "WORKFLOWS_TEMPLATE_PATHS" in done.err
    failed = wfc("run", "parent.yaml", "-i", "all=true", "--allow-exec", "--json", cwd=tmp_path)
    error = json.loads(failed.out)["error"]
    assert (failed.status, error["code"], error["step_id"]) == (1, "child_failed", "one")
    assert error["message"] == "`child` failed: there is no workflow `child`"


ASKING = """\
name: asking
description: Asks, where nobody can answer.
blocks:
  - {id: look, type: Shell, inputs: {command: echo here}}
  - {id: ask, type: Prompt, depends_on: [look], inputs: {human: true, prompt: "Found ${blocks.look.stdout}. Go on?"}}
outputs:
  answer: ${blocks.ask.response}
"""


def test_a_run_that_waits_for_a_person_says_for_what_as_json_too(tmp_path: Path) -> None:
    (tmp_path / "asking.yaml").write_text(ASKING)
    done = wfc("run", "asking.yaml", "--allow-exec", "--json", cwd=tmp_path)
    reply = json.loads(done.out)
    assert (done.status, reply["status"], reply["action"]["step_id"]) == (2, "pending_action", "ask")
    assert reply["action"]["parameters"]["message"] == "Found here\n. Go on?"
    (tmp_path / "answers.yaml").write_text("answers: {ask: {input: 'yes'}}\n")
    resumed = wfc("runs", "resume", reply["workflow_id"], "--answers", "answers.yaml", "--json", cwd=tmp_path)
    assert json.loads(resumed.out)["result"] == {"answer": "yes"}
