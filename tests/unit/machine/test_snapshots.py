"""Snapshots: plain JSON with a format number, and none that its machine could not have left behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.machine.support import NOON, OK, Drive, steps
from tests.unit.machine.test_parallel import CHECKS
from wfc_runtime.errors import SnapshotError
from wfc_runtime.machine.events import Submit
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import step

ONE = steps("{id: a, type: shell, command: x, output_to: out}", "{id: b, type: shell, command: y}")


def test_a_snapshot_is_plain_json_that_comes_back_the_same() -> None:
    run = Drive(ONE)
    run.submit("a", OK)
    text = run.at.to_json()
    assert json.loads(text)["format"] == 1
    assert Snapshot.from_json(text) == run.at


def test_the_state_can_be_kept_apart_from_the_rest() -> None:
    run = Drive(ONE)
    run.submit("a", OK)
    text = run.at.to_json(with_state=False)
    assert "state" not in json.loads(text)
    assert Snapshot.from_json(text, run.at.state) == run.at


def test_a_run_that_gave_its_state_has_it_written_once() -> None:
    run = Drive(ONE)
    run.submit("a", {**OK, "stdout": "only once"})
    run.submit("b", OK)
    assert run.at.to_json().count("only once") == 1
    assert Snapshot.from_json(run.at.to_json()).result == run.at.state


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", "[" * 100_000, '{"format": 1, "pending": 3}', '{"format": 1, "no": 1}']
)
def test_what_is_no_snapshot_is_said_to_be_damaged(text: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        Snapshot.from_json(text)
    assert caught.value.code in ("snapshot_damaged", "snapshot_format")


def test_a_snapshot_of_another_format_is_refused_with_both_numbers() -> None:
    with pytest.raises(SnapshotError, match="has format 2, this version of wfc reads format 1"):
        Snapshot.from_json('{"format": 2}')


def restored(text: str, **changes: Any) -> None:
    run = Drive(text)
    snapshot = run.at.copy()
    for name, value in changes.items():
        setattr(snapshot, name, value)
    step(run.machine, snapshot, Submit(at=NOON, id="x", visit="a", result=OK))


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ([], "not in exactly one of running, completed, failed and cancelled"),
        (["running"], "0 states inside `running` are active"),
        (["a"], "not in exactly one"),
        (["running", "a", "b"], "`b` is active and does not wait for anything|2 states inside"),
        (["running", "b"], "does not wait for anything"),
        (["running", "completed", "a"], "not in exactly one"),
        (["running", "finished"], "waits for something and is not active"),
    ],
)
def test_states_that_do_not_go_together_are_refused(configuration: list[str], message: str) -> None:
    with pytest.raises(SnapshotError, match=message):
        restored(ONE, configuration=configuration)


def test_a_state_that_the_machine_does_not_have_is_named() -> None:
    with pytest.raises(SnapshotError, match="the module has no state `gone`") as caught:
        restored(ONE, configuration=["running", "gone"])
    assert caught.value.code == "definition_changed"


def test_a_step_that_waits_for_nothing_is_refused() -> None:
    with pytest.raises(SnapshotError, match="`a` is active and does not wait"):
        restored(ONE, pending={})


def test_a_branch_that_is_missing_is_refused() -> None:
    run = Drive(CHECKS)
    snapshot = run.at.copy()
    snapshot.configuration = [
        name for name in snapshot.configuration if name not in ("types", "checks_types")
    ]
    snapshot.pending = {"lint": snapshot.pending["lint"]}
    with pytest.raises(SnapshotError, match="not every branch of `checks` is active"):
        step(run.machine, snapshot, Submit(at=NOON, id="x", visit="lint", result=OK))
