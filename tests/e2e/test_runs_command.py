"""`wfc runs`, and what `wfc check` says of runs under way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import inside as wfc
from tests.e2e.command import write
from wfc_runtime.service.sqlite import SqliteService

ASKS = """\
name: asks
version: "1.0.0"
steps:
  - id: ask-first
    type: prompt
    prompt_type: text
    message: What?
    output_to: answer
  - id: confirm-it
    type: prompt
    prompt_type: confirm
    needs_state: [answer]
    message: "Really {{ state.answer.input }}?"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    write(tmp_path / "workflows", asks=ASKS)
    assert wfc("compile", cwd=tmp_path).status == 0
    return tmp_path


@pytest.fixture
def run(project: Path) -> str:
    service = SqliteService.open(project / ".wfc" / "state.db", project / "generated")
    started = service.start("asks", {}, actor="test")
    service.close()
    return str(started["workflow_id"])


def test_list_shows_what_is_under_way_and_where_it_waits(project: Path, run: str) -> None:
    done = wfc("runs", "list", cwd=project)
    assert done.out == f"{run}  pending_action asks  waits in ask-first\n"
    assert json.loads(wfc("runs", "list", "--json", cwd=project).out)["runs"][0]["workflow_id"] == run


def test_show_and_history_tell_of_one_run(project: Path, run: str) -> None:
    shown = wfc("runs", "show", run, cwd=project).out
    assert "waits in ask-first (prompt)" in shown
    timeline = wfc("runs", "history", run, cwd=project).out
    assert timeline.startswith(f"asks, run {run}: pending_action\n")
    assert "+0.0 s  started, by test\n" in timeline
    assert timeline.endswith("-> ask-first\n")


def test_cancel_ends_a_run_and_keeps_the_reason(project: Path, run: str) -> None:
    assert wfc("runs", "cancel", run, "--reason", "no need", cwd=project).out == f"{run} is cancelled\n"
    assert wfc("runs", "list", cwd=project).out == "no runs\n"
    assert "no need" in wfc("runs", "show", run, cwd=project).out


def test_check_warns_of_a_step_that_a_run_waits_in_and_migrate_refuses_to_lose_it(
    project: Path, run: str
) -> None:
    write(project / "workflows", asks=ASKS.replace("ask-first", "ask-early"))
    checked = wfc("check", cwd=project)
    assert checked.status == 1
    assert f"warning[WF703]: run `{run}` waits in step `ask-first`, which is not here any more" in checked.out
    assert wfc("compile", cwd=project).status == 0
    moved = wfc("runs", "migrate", run, cwd=project)
    assert moved.status == 2
    assert "ask-first" in moved.err


def test_migrate_moves_a_run_whose_step_is_still_there(project: Path, run: str) -> None:
    write(project / "workflows", asks=ASKS.replace("Really", "Truly"))
    assert wfc("check", cwd=project).status == 0
    assert wfc("compile", cwd=project).status == 0
    assert wfc("runs", "migrate", run, cwd=project).out == f"{run} goes on with the current version\n"


def test_without_a_store_or_with_a_wrong_id_the_error_is_clear(project: Path) -> None:
    nothing = wfc("runs", "list", cwd=project)
    assert (nothing.status, nothing.err.split(":")[0:2]) == (2, ["wfc", " there are no runs"])
    write(project / ".wfc")
    (project / ".wfc" / "state.db").write_bytes(b"not a store at all")
    assert wfc("runs", "list", cwd=project).status == 2
    assert wfc("check", cwd=project).status == 0
