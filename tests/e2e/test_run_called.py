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
description: Calls one that is not there.
blocks:
  - {id: gone, type: Workflow, inputs: {workflow: nobody}}
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
    assert done.err.count("error[WF111]") == 1
    assert "completed after 0 actions: outputs" in done.err
    assert "note: a call of `child` will fail, should the run come to one" in done.err


def test_a_run_that_comes_to_it_fails_there(parent: str, tmp_path: Path) -> None:
    done = wfc("run", parent, "-i", "all=true", "--allow-exec", "--json", cwd=tmp_path)
    error = json.loads(done.out)["error"]
    assert (done.status, error["code"], error["step_id"]) == (1, "child_failed", "one")
    assert "`child` has errors" in error["message"]
