"""The engine in short: what every change should be tried on. The long tests are those of tests/runtime."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.runtime.support import OK, TWO, TemporalBox, children, step_ids, steps
from tests.runtime.test_children import foreach
from tests.support import PATIENCE
from tests.temporal.keys import OLD, text_of
from tests.temporal.stored import appears, stored
from wfc_runtime.errors import NotFoundError, RefusedError


def test_with_a_key_the_server_stores_no_content(temporal_box: TemporalBox) -> None:
    temporal_box.settings = replace(temporal_box.settings, key=text_of(OLD))
    service = temporal_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    assert step_ids(service.submit(run, "build", {**OK, "stdout": "quartz-zebra-71"})) == ["test"]
    assert "quartz-zebra-71" in str(service.state(run, ["built"]))
    data = stored(temporal_box, [run])
    assert b"wfc-aes256gcm" in data
    assert not appears("quartz-zebra-71", data)


def events_of(box: TemporalBox, run: str) -> list[str]:
    """Temporal's own history of a run."""

    async def fetch() -> list[str]:
        history = await box.service.client.get_workflow_handle(run).fetch_history()
        return [event.WhichOneof("attributes") or "" for event in history.events]

    return box.service._run(fetch())


def test_a_run_is_worked_to_its_end_with_each_answer_taken_once(temporal_box: TemporalBox) -> None:
    service = temporal_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    first = service.submit(run, "build", OK)
    assert step_ids(first) == ["test"]
    assert service.submit(run, "build", OK) == {**first, "repeated": True}
    with pytest.raises(RefusedError, match=r"with a different result, which is kept\. Pending: `test`"):
        service.submit(run, "build", {**OK, "exit_code": 1})
    assert service.submit(run, "test", {**OK, "exit_code": 5})["result"] == 5
    again = service.submit(run, "build", OK)
    assert (again["result"], again["repeated"]) == (5, True)
    assert [event["event"] for event in service.history(run)["events"]] == [
        "started",
        "submitted",
        "submitted",
    ]


def test_what_is_refused_and_what_is_sent_again_never_enters_the_history(temporal_box: TemporalBox) -> None:
    service = temporal_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    before = events_of(temporal_box, run)
    service.submit(run, "build", OK)
    for step_id, result in [("build", 1), ("nope", OK), ("test@2", OK), ("test", "x" * 300_000)]:
        with pytest.raises(RefusedError):
            service.submit(run, step_id, result)
    after = events_of(temporal_box, run)
    kinds = {"workflow_execution_update_accepted_event_attributes"}
    assert [event for event in after if event in kinds] == [event for event in before if event in kinds]


def test_children_are_child_workflows_and_their_parent_goes_on_by_itself(temporal_box: TemporalBox) -> None:
    service = temporal_box.compile(foreach()).service
    reply = service.start("w")
    for child in children(reply):
        service.submit(child, "look", OK)
    assert service.status(reply["workflow_id"])["status"] == "completed"
    started = "start_child_workflow_execution_initiated_event_attributes"
    assert events_of(temporal_box, reply["workflow_id"]).count(started) == 2


def test_time_comes_from_a_durable_timer(temporal_box: TemporalBox) -> None:
    temporal_box.compile(
        steps("{id: settle, type: wait, duration_seconds: 1}", "{id: r, type: return, value: 7}")
    )
    temporal_box.clock = None  # type: ignore[assignment]
    service = temporal_box.service
    run = service.start("w")["workflow_id"]

    async def end() -> object:
        return await asyncio.wait_for(service.client.get_workflow_handle(run).result(), PATIENCE)

    # Nobody asks: the run ends by itself.
    assert service._run(end()) == 7
    assert "timer_fired_event_attributes" in events_of(temporal_box, run)


def test_reading_a_run_that_is_due_says_so_and_writes_nothing(temporal_box: TemporalBox) -> None:
    wait = steps("{id: settle, type: wait, duration_seconds: 3000}", "{id: go, type: shell, command: x}")
    service = temporal_box.compile(wait).service
    run = service.start("w")["workflow_id"]
    before = events_of(temporal_box, run)
    temporal_box.clock.now += 3001
    for read in (service.next_step, service.status, service.history, service.state):
        read(run)
    service.runs()
    assert service.next_step(run)["action"]["parameters"]["due"] is True
    assert events_of(temporal_box, run) == before
    service.tick(run)
    assert step_ids(service.next_step(run)) == ["go"]


RENDER = "{id: render, type: render_template, template: 'Hello', variables: {}, output_to: out}"


def test_the_run_itself_executes_actions_that_only_compute(temporal_box: TemporalBox) -> None:
    task = foreach().replace("{id: look,", f"{RENDER}\n      - {{id: look,")
    end = "{id: end, type: return, needs_state: [out], value: '{{ state.out.content }} {{ state.out.duration }}'}"
    ask = "{id: ask, type: shell, command: x}"
    service = temporal_box.compile(task, steps(RENDER, ask, end, name="two")).service
    assert [step_ids(service.next_step(child)) for child in children(service.start("w"))] == [["look"]] * 2
    run = service.start("two")["workflow_id"]
    assert step_ids(service.status(run)) == ["ask"]
    assert [event.get("actor") for event in service.history(run)["events"]] == [None, "server"]
    # A new worker replays the history from its start.
    later = temporal_box.restart()
    assert later.submit(run, "ask", OK)["result"] == "Hello 0"


def test_cancelling_is_temporal_s_own_and_may_come_from_there(temporal_box: TemporalBox) -> None:
    service = temporal_box.compile(TWO).service
    run = service.start("w")["workflow_id"]

    async def cancel() -> str:
        handle = service.client.get_workflow_handle(run)
        await handle.cancel(reason="from the web page")
        with pytest.raises(Exception, match="Workflow execution failed"):
            await handle.result()
        description = await handle.describe()
        assert description.status is not None
        return description.status.name

    assert service._run(cancel()) == "CANCELED"
    reply = service.status(run)
    assert (reply["status"], reply["reason"]) == ("cancelled", "from the web page")


def test_an_unknown_run_is_answered_with_where_to_look(temporal_box: TemporalBox) -> None:
    service = temporal_box.compile(TWO).service
    for call in (service.status, service.next_step, service.state, service.history, service.cancel):
        with pytest.raises(NotFoundError, match="there is no run `nobody`"):
            call("nobody")


def test_a_child_that_needs_nobody_has_no_workflow_and_is_not_named_as_one(temporal_box: TemporalBox) -> None:
    text = (
        steps("{id: each, type: foreach, items: [1, 2, 3], task: sq, output_to: out}")
        + """
tasks:
  sq:
    inputs: {n: {type: number, required: true}}
    steps: [{id: r, type: return, value: "{{ inputs.n * inputs.n }}"}]
"""
    )
    service = temporal_box.compile(text).service
    reply = service.start("w")
    assert reply["result"]["out"] == [1, 4, 9]
    events = service.history(reply["workflow_id"])["events"]
    assert [event["event"] for event in events] == ["started", *["child_ended"] * 3]
    assert "children" not in events[0]
