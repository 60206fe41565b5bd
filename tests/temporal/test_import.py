"""Runs that leave the file for Temporal go on where they stood."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.runtime.support import OK, TWO, Box, TemporalBox, children, step_ids
from tests.runtime.test_children import foreach
from tests.support import wait_until
from tests.temporal.processes import WFC, environment
from wfc_runtime.engines.temporal_import import move_run
from wfc_runtime.errors import RefusedError
from wfc_runtime.service.sqlite import SqliteService


def test_a_run_goes_on_on_temporal_with_its_id_its_history_and_its_answers(
    file_box: Box, temporal_box: TemporalBox
) -> None:
    old, new = file_box.compile(TWO).service, temporal_box.service
    run = old.start("w", actor="me")["workflow_id"]
    first = old.submit(run, "build", OK)
    assert step_ids(move_run(old, new, run, "mover")) == ["test"]
    assert new.submit(run, "build", OK) == {**first, "repeated": True}
    with pytest.raises(RefusedError, match="with a different result"):
        new.submit(run, "build", {**OK, "exit_code": 9})
    assert new.state(run, ["built"])["state"]["built"] == OK
    assert new.submit(run, "test", {**OK, "exit_code": 4})["result"] == 4
    events = new.history(run)["events"]
    assert [event["event"] for event in events] == ["started", "submitted", "moved", "submitted"]
    assert [event["seq"] for event in events] == [1, 2, 3, 4]
    gone = old.status(run)
    assert gone["status"] == "cancelled"
    assert gone["reason"].startswith("moved to Temporal at")


def test_a_family_moves_as_a_whole(file_box: Box, temporal_box: TemporalBox) -> None:
    old, new = file_box.compile(foreach()).service, temporal_box.service
    reply = old.start("w")
    one, two = children(reply)
    old.submit(one, "look", {**OK, "exit_code": 1})
    moved = move_run(old, new, reply["workflow_id"], "mover")
    assert children(moved) == [two]
    assert new.submit(two, "look", {**OK, "exit_code": 2})["status"] == "completed"
    assert new.status(reply["workflow_id"])["result"] == [
        {"module": "m1", "code": 1},
        {"module": "m2", "code": 2},
    ]


def test_a_run_pinned_to_an_older_version_keeps_it(file_box: Box, temporal_box: TemporalBox) -> None:
    old, new = file_box.compile(TWO).service, temporal_box.service
    run = old.start("w")["workflow_id"]
    file_box.compile(TWO.replace("id: test", "id: verify"))
    move_run(old, new, run, "mover")
    assert step_ids(new.submit(run, "build", OK)) == ["test"]


def test_a_move_that_was_cut_off_can_be_done_again(
    file_box: Box, temporal_box: TemporalBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = file_box.compile(foreach()).service, temporal_box.service
    run = old.start("w")["workflow_id"]

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(old, "cancel", killed)
        with pytest.raises(KeyboardInterrupt):
            move_run(old, new, run, "mover")
    assert move_run(old, new, run, "mover")["status"] == "pending_action"
    assert old.status(run)["status"] == "cancelled"


def test_a_run_that_went_on_in_the_file_after_a_cut_off_move_is_not_moved_over_it(
    file_box: Box, temporal_box: TemporalBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = file_box.compile(TWO).service, temporal_box.service
    run = old.start("w")["workflow_id"]
    with monkeypatch.context() as patch:
        patch.setattr(old, "cancel", lambda *_, **__: None)
        move_run(old, new, run, "mover")
    old.submit(run, "build", OK)
    with pytest.raises(RefusedError, match="was already moved, after event 1, and has continued in the file"):
        move_run(old, new, run, "mover")


def test_a_move_that_the_file_overtook_leaves_nothing_behind_and_can_be_repeated(
    file_box: Box, temporal_box: TemporalBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = file_box.compile(foreach()).service, temporal_box.service
    reply = old.start("w")
    run, (one, _) = reply["workflow_id"], children(reply)
    begin = new.begin_now

    def overtaken(started: str, *more: object) -> None:
        begin(started, *more)
        if started == run:
            old.submit(one, "look", OK)

    with monkeypatch.context() as patch:
        patch.setattr(new, "begin_now", overtaken)
        with pytest.raises(RefusedError, match="continued while it was being moved"):
            move_run(old, new, run, "mover")

    assert move_run(old, new, run, "mover")["status"] == "pending_action"
    assert new.status(one)["status"] == "completed"


def test_the_command_moves_all_that_is_under_way(file_box: Box, temporal_box: TemporalBox) -> None:
    (file_box.root / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    file_box.compile(TWO.replace("steps:", "inputs: {target: {type: string, default: api}}\nsteps:", 1))
    # On the real time, as the command is.
    old, new = SqliteService.open(file_box.state, file_box.generated), temporal_box.service
    runs = [old.start("w")["workflow_id"] for _ in range(2)]
    done = old.start("w")["workflow_id"]
    old.cancel(done)
    old.close()
    command = [*WFC, "runs", "migrate", "--to", "temporal", "--json"]
    moved = subprocess.run(
        command, cwd=file_box.root, env=environment(temporal_box), capture_output=True, text=True, check=True
    )
    assert sorted(json.loads(moved.stdout)["moved"]) == sorted(runs)
    # Lists lag behind.
    wait_until(lambda: len(new.runs()["runs"]) == 2)
    for row in new.runs()["runs"]:
        assert (row["pending"], row["waits_for"], row["inputs"]) == (["build"], ["agent"], {"target": "api"})
    for run in runs:
        assert step_ids(new.submit(run, "build", OK)) == ["test"]
    again = subprocess.run(
        [*command[:-1], done],
        cwd=file_box.root,
        env=environment(temporal_box),
        capture_output=True,
        text=True,
    )
    assert again.returncode == 1
    assert f"{done} stays: run {done} is cancelled: only a run in progress can be moved" in again.stdout
