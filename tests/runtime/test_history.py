"""The history, read cold, tells what happened, when, and who answered."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256

import pytest

from tests.runtime.support import OK, TWO, Box, children, steps
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.events import Cancel, ChildEnded, Clock, Event, Start, Submit
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import step


def test_every_event_has_its_time_its_step_who_sent_it_and_what_it_moved_and_wrote(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w", {}, actor="session-1")["workflow_id"]
    box.clock.pass_(20.25)
    service.submit(run, "build", OK, actor="toolu_2")
    started, submitted = service.history(run)["events"]
    assert {key: started[key] for key in ("seq", "at", "event", "actor", "inputs", "version", "entered")} == {
        "seq": 1,
        "at": "2023-11-14T22:13:20.000Z",
        "event": "started",
        "actor": "session-1",
        "inputs": {},
        "version": "1.0.0",
        "entered": ["build"],
    }
    assert {key: value for key, value in submitted.items() if key != "shown"} == {
        "seq": 2,
        "at": "2023-11-14T22:13:40.250Z",
        "event": "submitted",
        "step_id": "build",
        "actor": "toolu_2",
        "result": OK,
        "left": ["build"],
        "entered": ["test"],
        "written": {"built": OK},
    }


def test_the_last_event_says_how_the_run_ended(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", {"error": "no"})
    last = service.history(run)["events"][-1]
    assert (last["status"], last["error"]["code"]) == ("failed", "agent_error")


def test_an_answer_is_bound_to_what_was_shown(box: Box) -> None:
    text = steps(
        "{id: ok, type: prompt, prompt_type: confirm, message: 'Deploy {{ inputs.v }}?', output_to: o}",
        head="inputs: {v: {type: string, required: true}}",
    )
    service = box.compile(text).service
    shown = []
    for version in ("1.0", "2.0"):
        reply = service.start("w", {"v": version})
        service.submit(reply["workflow_id"], "ok", {"confirmed": True}, actor="person")
        event = service.history(reply["workflow_id"])["events"][-1]
        what = [reply["action"]["type"], reply["action"]["parameters"]]
        digest = sha256(json.dumps(what, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()
        assert event["shown"] == digest[:32]
        shown.append(event["shown"])
    assert shown[0] != shown[1]


def test_results_that_did_not_fit_are_in_the_history_too(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    with pytest.raises(RefusedError):
        service.submit(run, "build", {"stdout": 1}, actor="me")
    event = service.history(run)["events"][-1]
    assert (event["event"], event["step_id"], event["actor"]) == ("refused", "build", "me")
    assert "is not of type 'string'" in event["refusal"]


def test_small_values_are_shown_whole_and_large_ones_by_their_size(box: Box) -> None:
    service = box.compile(steps("{id: a, type: set_state, updates: {x: 1, y: \"{{ 'z' * 1000 }}\"}}")).service
    run = service.start("w")["workflow_id"]
    assert service.history(run)["events"][0]["written"] == {"x": 1, "y": {"bytes": 1002}}


def test_a_long_history_comes_in_parts(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    service.submit(run, "test", OK)
    part = service.history(run, limit=2)
    assert [event["seq"] for event in part["events"]] == [1, 2]
    assert part["next"] == f'get_workflow_history(workflow_id="{run}", after=2)'
    rest = service.history(run, after=2)
    assert [event["seq"] for event in rest["events"]] == [3]
    assert "next" not in rest


EVERYTHING = """
name: w
version: 1.0.0
inputs: {items: {type: array, required: true}}
steps:
  - id: mix
    type: parallel
    branches:
      x:
        - {id: a, type: shell, command: "echo {{ uuid() }}", output_to: a, retry: {max_attempts: 2, delay_seconds: 5}}
        - {id: w, type: wait, duration_seconds: 9}
      y:
        - {id: each, type: foreach, items: "{{ inputs.items }}", task: t, sequential: true, output_to: o}
  - {id: stamp, type: set_state, needs_state: [o], updates: {when: "{{ now().isoformat() }}", u: "{{ uuid() }}"}}
  - {id: ask, type: prompt, prompt_type: confirm, message: "{{ uuid() }}", output_to: ok}
tasks:
  t:
    inputs: {n: {type: number, required: true}}
    steps:
      - {id: s, type: shell, command: "echo {{ inputs.n }} {{ previous | length }}", output_to: out}
      - {id: r, type: return, needs_state: [out], value: "{{ state.out.stdout }} {{ item }}"}
"""


def test_a_run_can_be_replayed_from_its_history(box: Box) -> None:
    service = box.compile(EVERYTHING).service
    reply = service.start("w", {"items": [1, 2]})
    run = reply["workflow_id"]
    service.submit(run, "a", {"error": "not yet"})
    box.clock.pass_(5)
    service.status(run)
    service.submit(run, "a@2", OK)
    for _ in range(2):
        actions = service.status(run)["actions"]
        foreach = next(action for action in actions if action["type"] == "foreach")
        service.submit(foreach["parameters"]["children"][0]["workflow_id"], "s", OK)
    box.clock.pass_(20)
    service.status(run)
    service.submit(run, "ask", {"confirmed": True})
    module, machine, final = service.definition(run)
    assert final.status == "completed"
    assert replayed(box, run).to_json() == final.to_json()
    assert module.workflow.name == "w"
    assert machine is module.workflow.machine


def replayed(box: Box, run: str) -> Snapshot:
    """The snapshot that the recorded events give, worked through from the start."""
    _, machine, _ = box.service.definition(run)
    snapshot: Snapshot | None = None
    for entry in box.service.history(run)["events"]:
        at, name = datetime.fromisoformat(entry["at"]).timestamp(), f"{run}/{entry['seq']}"
        visit = entry.get("step_id", "")
        event: Event
        match entry["event"]:
            case "started":
                event = Start(at=at, id=name, inputs=entry["inputs"], scope=entry.get("scope", {}))
            case "submitted" | "refused":
                event = Submit(at=at, id=name, visit=visit, result=entry.get("result"))
            case "clock":
                event = Clock(at=at, id=name)
            case "child_ended":
                assert snapshot is not None
                child = snapshot.pending[visit].children[entry["index"]]
                assert child is not None
                _, _, ended = box.service.definition(child["run"])
                event = ChildEnded(
                    at=at,
                    id=name,
                    visit=visit,
                    index=entry["index"],
                    result={"value": ended.result},
                    served=ended.room > 0,
                )
            case _:
                event = Cancel(at=at, id=name, reason=entry["reason"])
        snapshot = step(machine, snapshot, event).snapshot
    assert snapshot is not None
    return snapshot


def test_children_are_named_where_they_were_started(box: Box) -> None:
    text = (
        steps("{id: each, type: foreach, items: [1, 2], task: t, output_to: o}")
        + "tasks:\n  t:\n    inputs: {n: {type: number, required: true}}\n"
        "    steps:\n      - {id: s, type: shell, command: 'echo {{ inputs.n }}'}\n"
    )
    service = box.compile(text).service
    reply = service.start("w")
    assert service.history(reply["workflow_id"])["events"][0]["children"] == children(reply)
