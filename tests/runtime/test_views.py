"""What pages show of runs: lists and totals, the inbox, visits, the path, relations, errors, the state at an event."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, children, steps
from tests.support import wait_until
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError
from wfc_runtime.store.database import MIGRATIONS

ASK = steps(
    "{id: build, type: shell, command: make, output_to: built}",
    "{id: agree, type: prompt, prompt_type: confirm, message: 'Ship it?', output_to: yes_or_no}",
    "{id: done, type: return, needs_state: [yes_or_no], value: '{{ state.yes_or_no.confirmed }}'}",
    name="asks",
)
CALLER = steps("{id: sub, type: call, workflow: asks, with: {}, output_to: said}", name="caller")
EACH = (
    steps(
        "{id: all, type: foreach, items: [a, b, c], task: one, output_to: found}",
        "{id: end, type: return, needs_state: [found], value: '{{ state.found }}'}",
        name="each",
    )
    + """
tasks:
  one:
    inputs: {file: {type: string, required: true}}
    steps:
      - {id: look, type: shell, command: "wc {{ inputs.file | shquote }}", output_to: out}
      - {id: give, type: return, needs_state: [out], value: "{{ state.out.stdout }}"}
"""
)


def ended(box: Box, workflow: str = "w") -> str:
    """A run that is over."""
    run = box.service.start(workflow)["workflow_id"]
    box.service.submit(run, "build", OK)
    box.service.submit(run, "test", OK)
    return str(run)


def waiting(box: Box, count: int) -> list[dict[str, Any]]:
    """The inbox, once it has that many entries: the lists of some engines lag behind."""
    wait_until(lambda: len(box.service.waiting()["waiting"]) == count, lambda: str(box.service.waiting()))
    found: list[dict[str, Any]] = box.service.waiting()["waiting"]
    return found


# -- lists ---------------------------------------------------------------------


def test_runs_are_listed_by_workflow_and_by_the_beginning_of_an_id(box: Box) -> None:
    service = box.compile(TWO, ASK).service
    first = service.start("w")["workflow_id"]
    second = service.start("asks")["workflow_id"]
    assert [one["workflow_id"] for one in service.runs(workflow="asks")["runs"]] == [second]
    assert [one["workflow_id"] for one in service.runs(beginning=first[:6])["runs"]] == [first]
    assert service.runs(workflow="asks", beginning=first[:6])["runs"] == []
    with pytest.raises(RequestError):
        service.runs(beginning="' OR 1")
    with pytest.raises(RequestError):
        service.runs(workflow="a b")


def test_counts_tell_how_many_runs_there_are_by_status_and_workflow(box: Box) -> None:
    box.compile(TWO, ASK)
    ended(box)
    box.service.start("w")
    asks = box.service.start("asks")["workflow_id"]
    box.service.submit(asks, "build", OK)
    wait_until(
        lambda: (
            box.service.counts()
            == {
                "runs": {"completed": 1, "pending_action": 2},
                "workflows": {"w": {"completed": 1, "pending_action": 1}, "asks": {"pending_action": 1}},
                "waiting": 1,
            }
        ),
        lambda: str(box.service.counts()),
    )


# -- the inbox -----------------------------------------------------------------


def test_the_inbox_has_what_waits_for_a_person_and_nothing_else(box: Box) -> None:
    service = box.compile(ASK).service
    run = service.start("asks")["workflow_id"]
    assert waiting(box, 0) == []
    service.submit(run, "build", OK)
    [gate] = waiting(box, 1)
    assert (gate["workflow_id"], gate["workflow"], gate["action"]["step_id"]) == (run, "asks", "agree")
    assert gate["action"]["parameters"]["message"] == "Ship it?"
    assert gate["since"].startswith("20")
    assert "root" not in gate
    service.submit(run, "agree", {"confirmed": True})
    assert waiting(box, 0) == []


def test_the_inbox_has_gates_of_called_workflows_with_their_root(box: Box) -> None:
    service = box.compile(ASK, CALLER).service
    reply = service.start("caller")
    [child] = children(reply)
    service.submit(child, "build", OK)
    [gate] = waiting(box, 1)
    assert gate["workflow_id"] == child
    assert gate["root"] == {"workflow_id": reply["workflow_id"], "workflow": "caller"}


def test_the_inbox_is_oldest_first_and_paged(box: Box) -> None:
    service = box.compile(ASK).service
    runs = []
    for _ in range(3):
        runs.append(service.start("asks")["workflow_id"])
        service.submit(runs[-1], "build", OK)
        box.clock.pass_(1)
    assert [one["workflow_id"] for one in waiting(box, 3)] == runs
    first = service.waiting(limit=2)
    assert [one["workflow_id"] for one in first["waiting"]] == runs[:2]
    assert first["total"] == 3
    rest = service.waiting(limit=2, after=first["after"])
    assert [one["workflow_id"] for one in rest["waiting"]] == runs[2:]
    assert "after" not in rest


def test_a_gate_leaves_the_inbox_when_its_run_is_cancelled(box: Box) -> None:
    service = box.compile(ASK).service
    run = service.start("asks")["workflow_id"]
    service.submit(run, "build", OK)
    waiting(box, 1)
    service.cancel(run)
    assert waiting(box, 0) == []


def test_a_store_of_an_earlier_version_has_its_gates_in_the_inbox(file_box: Box) -> None:
    run = file_box.compile(ASK).service.start("asks")["workflow_id"]
    file_box.service.submit(run, "build", OK)
    file_box.close()
    with sqlite3.connect(file_box.state) as connection:
        connection.execute("DROP TABLE gates")
        connection.execute("DROP INDEX runs_of_workflow")
        connection.execute("DROP INDEX history_journal")
        connection.execute(f"PRAGMA user_version = {_before('gates')}")
    connection.close()
    [gate] = file_box.restart().waiting()["waiting"]
    assert (gate["workflow_id"], gate["action"]["step_id"]) == (run, "agree")
    file_box.service.submit(run, "agree", {"confirmed": True})
    assert file_box.service.waiting()["waiting"] == []


def _before(table: str) -> int:
    """The version of a store without a table."""
    return next(
        n for n, step in enumerate(MIGRATIONS) if any(f"CREATE TABLE {table} " in one for one in step)
    )


def test_an_imported_run_has_its_gates_in_the_inbox(file_box: Box) -> None:
    run = file_box.compile(ASK).service.start("asks")["workflow_id"]
    file_box.service.submit(run, "build", OK)
    data = file_box.service.export(run)
    file_box.service.cancel(run)
    file_box.service.erase(run)
    assert file_box.service.waiting()["waiting"] == []
    file_box.service.import_(data)
    assert [one["action"]["step_id"] for one in file_box.service.waiting()["waiting"]] == ["agree"]


@pytest.mark.parametrize("cursor", ["", "x", "1 2", "a b c", "1 x y", "1 2 3 4"])
def test_a_cursor_that_is_none_is_refused(file_box: Box, cursor: str) -> None:
    with pytest.raises(RequestError, match="is not a cursor"):
        file_box.compile(ASK).service.waiting(after=cursor)


# -- answers that are bound to what was shown --------------------------------------


def test_an_answer_to_what_was_shown_is_taken(box: Box) -> None:
    service = box.compile(ASK).service
    run = service.start("asks")["workflow_id"]
    service.submit(run, "build", OK)
    shown = service.status(run, masked=True)["action"]["shown"]
    reply = service.submit(run, "agree", {"confirmed": True}, shown=shown, actor="person:Ada, page")
    assert (reply["status"], reply["result"]) == ("completed", True)
    [answered] = [one for one in service.history(run)["events"] if one.get("step_id") == "agree"]
    assert (answered["shown"], answered["actor"]) == (shown, "person:Ada, page")


def test_an_answer_to_something_else_is_refused_and_changes_nothing(box: Box) -> None:
    service = box.compile(ASK).service
    run = service.start("asks")["workflow_id"]
    service.submit(run, "build", OK)
    before = service.history(run)
    with pytest.raises(RefusedError) as caught:
        service.submit(run, "agree", {"confirmed": True}, shown="0" * 32)
    assert caught.value.code == "not_shown"
    assert service.history(run) == before
    assert service.submit(run, "agree", {"confirmed": True})["status"] == "completed"


def test_replies_to_agents_have_no_digest(box: Box) -> None:
    service = box.compile(ASK).service
    reply = service.start("asks")
    assert "shown" not in reply["action"]
    assert "shown" not in service.status(reply["workflow_id"])["action"]


# -- history, visits, path ---------------------------------------------------------


def test_the_history_is_read_from_its_end(box: Box) -> None:
    run = ended(box.compile(TWO))
    last = box.service.history(run, before=0, limit=2)
    assert [event["seq"] for event in last["events"]] == [3, 2]
    rest = box.service.history(run, before=last["before"], limit=2)
    assert [event["seq"] for event in rest["events"]] == [1]
    assert "before" not in rest


def test_the_history_shows_only_failures_if_wanted(box: Box) -> None:
    failing = steps(
        "{id: a, type: shell, command: make, on_error: continue}",
        "{id: b, type: shell, command: make, output_to: b}",
    )
    service = box.compile(failing).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "a", {"error": "no make"})
    service.submit(run, "b", OK)
    found = service.history(run, before=0, kinds=["failures"])["events"]
    assert [(one["seq"], one["notes"][0]["message"]) for one in found] == [(2, "no make")]
    assert [one["seq"] for one in service.history(run, before=0, kinds=["started"])["events"]] == [1]
    with pytest.raises(RequestError, match="unknown kind of event"):
        service.history(run, before=0, kinds=["odd"])


def test_visits_tell_how_long_each_step_took_and_who_ended_it(box: Box) -> None:
    service = box.compile(ASK).service
    run = service.start("asks")["workflow_id"]
    box.clock.pass_(5)
    service.submit(run, "build", OK, actor="me")
    box.clock.pass_(60)
    build, agree = service.visits(run)["visits"]
    assert (build["step_id"], build["type"], build["waits_for"]) == ("build", "shell", "agent")
    assert (build["seconds"], build["by"], build["outcome"]) == (5.0, "me", "done")
    assert (agree["waits_for"], agree["from"]) == ("person", 2)
    assert "ended" not in agree


def test_each_visit_of_a_loop_and_each_retry_is_a_bar_of_its_own(box: Box) -> None:
    text = steps(
        "{id: turn, type: while, needs_state: [o], if: '{{ state.o.exit_code != 0 }}', max_iterations: 5,"
        " steps: [{id: go, type: shell, command: make, retry: {max_attempts: 2}, output_to: o}]}",
        head="initial_state: {o: {exit_code: 1, stdout: '', stderr: ''}}",
    )
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "go", {"error": "first"})
    service.submit(run, "go@2", {**OK, "exit_code": 2})
    service.submit(run, "go@3", OK)
    bars = [one for one in service.visits(run)["visits"] if one["type"] == "shell"]
    assert [(one["step_id"], one["outcome"]) for one in bars] == [
        ("go", "retried"),
        ("go@2", "done"),
        ("go@3", "done"),
    ]
    assert [one["step_id"] for one in service.visits(run, limit=1)["visits"]] == []
    earlier = service.visits(run, limit=2, before=3)["visits"]
    assert [one["step_id"] for one in earlier if one["type"] == "shell"] == ["go", "go@2"]


def test_the_path_has_the_edges_that_were_taken_and_where_the_run_is(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    box.service.submit(run, "build", OK)
    path = box.service.path(run)
    assert path["current"] == ["test"]
    assert path["taken"] == [["", "build", 1], ["build", "test", 1]]
    box.service.submit(run, "test", OK)
    assert box.service.path(run)["taken"][2:] == [["test", "done", 1], ["done", "finished", 1]]
    assert box.service.path(run)["current"] == []
    assert box.service.path(run, at=1)["current"] == ["build"]


def test_the_path_through_parallel_branches_is_followed_branch_by_branch(box: Box) -> None:
    text = """
name: w
version: 1.0.0
steps:
  - id: both
    type: parallel
    branches:
      left:
        - {id: a, type: shell, command: a}
        - {id: b, type: shell, command: b}
      right:
        - {id: c, type: shell, command: c}
  - {id: last, type: shell, command: d}
"""
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    for step in ("a", "c", "b"):
        service.submit(run, step, OK)
    taken = [tuple(one[:2]) for one in service.path(run)["taken"]]
    assert ("", "both") in taken
    assert ("a", "b") in taken
    assert ("both", "last") in taken
    assert ("c", "b") not in taken
    assert ("a", "c") not in taken


# -- relations -----------------------------------------------------------------


def test_a_family_has_parent_root_item_and_children_with_counts(box: Box) -> None:
    service = box.compile(EACH).service
    reply = service.start("each")
    run, kids = reply["workflow_id"], children(reply)
    service.submit(kids[0], "look", OK)
    family = service.family(run)
    assert family["counts"] == {"completed": 1, "pending_action": 2}
    assert [(one["position"], one["item"], one["status"]) for one in family["children"]] == [
        (0, "a", "completed"),
        (1, "b", "pending_action"),
        (2, "c", "pending_action"),
    ]
    child = service.family(kids[1])
    assert child["parent"]["workflow_id"] == child["root"]["workflow_id"] == run
    assert (child["task"], child["step_id"], child["position"], child["item"]) == ("one", "all", 1, "b")
    page = service.family(run, limit=2)
    assert [one["workflow_id"] for one in service.family(run, after=page["after"])["children"]] == kids[2:]
    assert [one["position"] for one in service.family(run, status="completed")["children"]] == [0]


# -- errors as data --------------------------------------------------------------


def test_a_failed_expression_has_its_text_place_and_values(box: Box) -> None:
    text = steps(
        "{id: build, type: shell, command: make, output_to: built}",
        "{id: bad, type: set_state, needs_state: [built], updates: {n: '{{ 1 // state.built.exit_code }}'}}",
    )
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    error = service.status(run, masked=True)["error"]
    assert error["expression"] == "{{ 1 // state.built.exit_code }}"
    start, end = error["at"]
    assert error["expression"][start:end] == "1 // state.built.exit_code"
    assert error["values"] == {"state.built": OK}
    assert error["place"] == {"file": "workflows/w.yaml", "line": 6}


def test_the_values_of_a_failed_expression_are_redacted(box: Box) -> None:
    text = steps(
        "{id: bad, type: set_state, updates: {n: '{{ 1 // (inputs.token | length - 11) }} {{ inputs.note }}'}}",
        head="inputs:\n  token: {type: string, secret: true}\n  note: {type: string}",
    )
    service = box.compile(text).service
    reply = service.start("w", {"token": "hunter2-abc", "note": "with hunter2-abc inside"})
    error = service.status(reply["workflow_id"], masked=True)["error"]
    assert error["values"]["inputs.token"] == "***"
    assert "hunter2" not in str(service.history(reply["workflow_id"]))
    assert "hunter2" not in str(error)


# -- the state at an event -----------------------------------------------------------


def test_the_state_at_an_event_is_what_it_was(box: Box) -> None:
    run = ended(box.compile(TWO))
    then = box.service.state_at(run, 2)
    assert then["state"] == {"built": OK}
    assert then["wrote"] == ["built"]
    assert box.service.state_at(run, 1)["state"] == {}
    assert box.service.state_at(run, 3)["state"] == {"built": OK, "t": OK}
    with pytest.raises(NotFoundError):
        box.service.state_at(run, 99)
    with pytest.raises(NotFoundError):
        box.service.state_at(run, 0)


def test_a_long_value_that_was_overwritten_is_found_by_replay(box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: a, output_to: o}",
        "{id: long, type: set_state, needs_state: [o], updates: {text: '{{ state.o.stdout * 200 }}'}}",
        "{id: b, type: shell, command: b, output_to: p}",
        "{id: short, type: set_state, updates: {text: 'x'}}",
        head="initial_state: {text: ''}",
    )
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "a", OK)
    service.submit(run, "b", OK)
    assert service.state_at(run, 2)["state"]["text"] == "fine" * 200
    assert service.state_at(run, 3)["state"]["text"] == "x"
    assert "unknown" not in service.state_at(run, 2)


def test_secrets_are_redacted_in_the_state_at_an_event(box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: 'a {{ inputs.token }}', output_to: o}",
        "{id: b, type: shell, command: b}",
        head="inputs:\n  token: {type: string, secret: true}",
    )
    service = box.compile(text).service
    run = service.start("w", {"token": "hunter2-abc"})["workflow_id"]
    service.submit(run, "a", {**OK, "stdout": "saw hunter2-abc"})
    assert service.state_at(run, 2)["state"]["o"]["stdout"] == "saw ***"


# -- the picture -----------------------------------------------------------------


def test_a_run_is_drawn_as_the_version_that_it_started_with(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    box.compile(TWO.replace("id: test", "id: verify"))
    picture = box.restart().picture(run)
    assert 'data-state="test"' in picture["svg"]
    assert 'data-state="verify"' not in picture["svg"]
    assert (picture["chart"], picture["names"]["test"]) == ("main", "test")
    assert picture["lines"]["test"] > picture["lines"]["build"]


def test_a_child_is_in_the_chart_of_its_task(box: Box) -> None:
    [first, *_] = children(box.compile(EACH).service.start("each"))
    picture = box.service.picture(first)
    assert picture["chart"] == "one"
    assert 'data-chart="one" data-state="look"' in picture["svg"]


def test_a_picture_says_which_steps_are_for_a_server(box: Box) -> None:
    box.compile(
        steps(
            "{id: build, type: shell, command: make, runner: server}",
            "{id: look, type: shell, command: make}",
            name="served",
        )
    )
    run = str(box.service.start("served")["workflow_id"])
    assert box.service.picture(run)["served"] == ["build"]
