"""Whole runs on Temporal: exported, imported, deleted, continued in a terminal, and listed when they are overdue."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from temporalio.client import WorkflowExecution
from temporalio.service import RPCError, RPCStatusCode

from tests.runtime.support import OK, TWO, Box, TemporalBox, children, step_ids, steps
from tests.runtime.test_children import foreach
from tests.runtime.test_retry import BROKEN
from tests.support import wait_until
from tests.temporal.processes import WFC, environment
from wfc_runtime.engines.temporal_import import copy_run
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError


def ended(box: TemporalBox, run: str) -> bool:
    """Lists lag behind."""
    rows = box.service.ended_before(box.clock() + 10**9)["runs"]
    return run in [row["workflow_id"] for row in rows]


def test_a_run_that_has_ended_is_deleted_with_its_children_and_all_executions(
    temporal_box: TemporalBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(query: str) -> AsyncIterator[WorkflowExecution]:
        for one in ():
            yield one

    service: Any = temporal_box.compile(foreach()).service
    open_run = service.start("w")["workflow_id"]
    with pytest.raises(RefusedError, match="is in progress"):
        service.erase(open_run)
    run, (one, two) = completed_after_a_retry(temporal_box)
    with pytest.raises(RefusedError, match="is a child run"):
        service.erase(one)
    wait_until(lambda: ended(temporal_box, run))
    # Lists lag behind: what they do not show yet must not outlive the deletion.
    with monkeypatch.context() as lagging:
        lagging.setattr(service, "_executions", nothing)
        found = {member: service._run(service._executions_of(member)) for member in (run, one, two)}
        assert [len(each) for each in found.values()] == [2, 2, 1]
        assert service.erase(run) == 3
    for member, each in found.items():
        for execution in each:
            wait_until(partial(is_gone, service, member, execution))
        with pytest.raises(NotFoundError):
            service.history(member)
    wait_until(lambda: not ended(temporal_box, run))


def completed_after_a_retry(box: TemporalBox) -> tuple[str, list[str]]:
    """A run and its two children, one of which failed before."""
    service = box.compile(foreach()).service
    reply = service.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    service.submit(one, "look", BROKEN)
    service.submit(two, "look", OK)
    service.retry(run)
    service.submit(one, "look@2", OK)
    assert service.status(run)["status"] == "completed"
    return run, [one, two]


def test_a_run_is_deleted_although_temporal_has_already_deleted_one_of_its_children(
    temporal_box: TemporalBox,
) -> None:
    run, (one, two) = completed_after_a_retry(temporal_box)
    service: Any = temporal_box.service
    service._run(service._delete(one))
    wait_until(partial(is_gone, service, one))
    assert service.erase(run) == 2
    for member in (run, two):
        wait_until(partial(is_gone, service, member))


def is_gone(service: Any, run: str, execution: str | None = None) -> bool:
    try:
        service._run(service.client.get_workflow_handle(run, run_id=execution).describe())
    except RPCError as error:
        return error.status == RPCStatusCode.NOT_FOUND
    return False


def test_a_retried_family_is_exported_with_its_history_and_goes_on_in_a_file(
    temporal_box: TemporalBox, file_box: Box
) -> None:
    service = temporal_box.compile(foreach()).service
    reply = service.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    with pytest.raises(RequestError, match="is a child run"):
        service.export(one)
    service.submit(one, "look", BROKEN)
    service.submit(two, "look", OK)
    service.retry(run)
    data = json.loads(json.dumps(service.export(run)))
    old = file_box.compile(foreach()).service
    assert children(old.import_(data)) == [one]
    assert [event["event"] for event in old.history(run)["events"]] == [
        *("started", "child_ended", "child_ended", "retried")
    ]
    assert old.submit(two, "look", OK)["repeated"] is True
    old.submit(one, "look@2", OK)
    assert old.status(run)["status"] == "completed"


def test_an_open_run_with_secrets_is_exported_only_if_they_may_be_in_it(temporal_box: TemporalBox) -> None:
    text = steps(
        "{id: build, type: shell, command: 'curl {{ inputs.token | shquote }}'}",
        head="inputs: {token: {type: string, required: true, secret: true}}",
    )
    service = temporal_box.compile(text).service
    run = service.start("w", {"token": "s3cret-token"})["workflow_id"]
    with pytest.raises(RefusedError, match="contains secrets"):
        service.export(run)
    assert "s3cret-token" in json.dumps(service.export(run, secrets=True))


def test_an_overdue_action_is_listed_as_overdue(temporal_box: TemporalBox) -> None:
    service = temporal_box.compile(steps("{id: build, type: shell, command: make, timeout: 60}")).service
    service.start("w")
    other = temporal_box.another()
    wait_until(lambda: other.runs()["runs"])
    assert "overdue_seconds" not in other.runs()["runs"][0]
    temporal_box.clock.now += 100
    wait_until(lambda: [one.get("overdue_seconds") for one in other.runs()["runs"]] == [40])
    assert [one.get("overdue_seconds") for one in service.runs()["runs"]] == [40]


def test_the_commands_export_import_resume_retry_and_prune_work_on_temporal(
    temporal_box: TemporalBox,
) -> None:
    root = temporal_box.root
    (root / "pyproject.toml").write_text('[tool.wfc]\nengine = "temporal"\n', encoding="utf-8")
    temporal_box.compile(TWO)
    temporal_box.clock = None
    service = temporal_box.service
    run = service.start("w")["workflow_id"]

    def wfc(*words: str, given: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [*WFC, "runs", *words],
            cwd=root,
            env=environment(temporal_box),
            input=given,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    service.submit(run, "build", BROKEN)
    assert wfc("retry", run, "--step", "build") == f"{run} waits in build@2\n"
    exported = wfc("export", run)
    service.cancel(run, "moved")
    wait_until(lambda: "erased 1 run" in wfc("prune", "--older-than", "0s", "--yes"))
    wait_until(lambda: run not in wfc("list", "--status", "all"))
    assert wfc("import", "-", given=exported) == f"{run} is here, pending_action\n"
    assert step_ids(service.status(run)) == ["build@2"]
    (root / "answers.yaml").write_text("answers: {build: [x, made], test: fine}\n", encoding="utf-8")
    assert wfc("resume", run, "--answers", "answers.yaml").strip() == "0"
    assert service.status(run)["status"] == "completed"
    exported = wfc("export", run)
    refused = wfc("import", "-", given=exported, code=2)
    assert f"run {run} already exists on Temporal" in refused
    assert "Traceback" not in refused
    assert wfc("--engine", "sqlite", "import", "-", given=exported) == f"{run} is here, completed\n"


def test_runs_that_have_ended_are_imported_to_temporal_with_how_they_ended(
    file_box: Box, temporal_box: TemporalBox
) -> None:
    old, new = file_box.compile(TWO).service, temporal_box.compile(TWO).service
    done, failed, cancelled = (old.start("w")["workflow_id"] for _ in range(3))
    for step_id in ("build", "test"):
        old.submit(done, step_id, OK)
    old.submit(failed, "build", BROKEN)
    old.cancel(cancelled, "no longer wanted")
    for run in (done, failed, cancelled):
        before, events = old.status(run), old.history(run)["events"]
        # Twice, as after an interruption.
        for _ in range(2):
            after = copy_run(old, new, run, "me")
            assert {**after, "progress": ""} == {**before, "progress": ""}
        shown = new.history(run)["events"]
        assert shown[:-1] == events
        assert shown[-1]["event"] == "moved"
        wait_until(partial(ended, temporal_box, run))
    found = {row["workflow_id"]: row["status"] for row in new.runs("all")["runs"]}
    assert found == {done: "completed", failed: "failed", cancelled: "cancelled"}
    assert new.submit(done, "build", OK)["repeated"] is True
    assert step_ids(new.retry(failed)) == ["build@2"]
    assert new.retry(failed, "build")["repeated"] is True
    new.submit(failed, "build@2", OK)
    assert new.submit(failed, "test", OK)["status"] == "completed"
    for run in (done, cancelled):
        with pytest.raises(RefusedError, match="only a failed run can be retried"):
            new.retry(run)
        assert new.erase(run) == 1


def test_the_children_of_an_imported_run_are_retried_as_before(
    file_box: Box, temporal_box: TemporalBox
) -> None:
    old, new = file_box.compile(foreach()).service, temporal_box.compile(foreach()).service
    reply = old.start("w")
    run, (one, two) = reply["workflow_id"], children(reply)
    old.submit(one, "look", BROKEN)
    waiting = copy_run(old, new, run, "me")
    assert children(waiting) == [two]
    assert new.status(one)["status"] == "failed"
    assert step_ids(new.retry(one)) == ["look@2"]
    new.submit(one, "look@2", OK)
    new.submit(two, "look", OK)
    assert new.status(run)["status"] == "completed"
