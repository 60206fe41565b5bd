"""A long run goes on in a fresh execution before Temporal's limits, and nobody who drives it notices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.support import OK, TemporalBox, children, step_ids, steps
from tests.runtime.test_children import foreach
from wfc_runtime.errors import RefusedError

LOOP = steps(
    "{id: improve, type: shell, command: 'fix {{ uuid() }}', output_to: last}",
    "{id: again, type: goto, target: improve, max_iterations: 100, else: stop}",
    "{id: stop, type: return, needs_state: [last], value: '{{ state.last.exit_code }}'}",
)
_TURNS = 12


def executions(box: TemporalBox, run: str) -> list[str]:
    """The executions that a run has gone through, the latest first."""

    async def walk() -> list[str]:
        found: list[str] = []
        at: str | None = None
        while True:
            handle = box.service.client.get_workflow_handle(run, run_id=at)
            history = await handle.fetch_history()
            started = history.events[0].workflow_execution_started_event_attributes
            found.append(at or "latest")
            at = started.continued_execution_run_id or None
            if at is None:
                return found

    return box.service._run(walk())


@pytest.fixture
def long_run(temporal_box: TemporalBox) -> tuple[Any, str]:
    service = temporal_box.compile(LOOP).another(renew_after=25)
    run = service.start("w")["workflow_id"]
    for turn in range(_TURNS):
        visit = "improve" if turn == 0 else f"improve@{turn + 1}"
        reply = service.submit(run, visit, {**OK, "exit_code": turn}, actor=f"turn {turn}")
        assert step_ids(reply) == [f"improve@{turn + 2}"]
    return service, run


def test_a_long_run_goes_on_in_fresh_executions(temporal_box: TemporalBox, long_run: tuple[Any, str]) -> None:
    service, run = long_run
    assert len(executions(temporal_box, run)) > 2
    assert service.state(run, ["last"])["state"]["last"]["exit_code"] == _TURNS - 1
    assert step_ids(service.next_step(run)) == [f"improve@{_TURNS + 1}"]
    assert service.status(run)["progress"]["events"] == _TURNS + 1


def test_answers_are_known_again_across_executions(long_run: tuple[Any, str]) -> None:
    service, run = long_run
    reply = service.submit(run, "improve", {**OK, "exit_code": 0})
    assert (step_ids(reply), reply["repeated"]) == ([f"improve@{_TURNS + 1}"], True)
    with pytest.raises(
        RefusedError, match=r"`improve@2` has already been answered with a different result.*Pending"
    ):
        service.submit(run, "improve@2", {**OK, "exit_code": 99})
    with pytest.raises(RefusedError, match="has not been reached"):
        service.submit(run, "improve@90", OK)
    assert step_ids(service.next_step(run)) == [f"improve@{_TURNS + 1}"]


def test_the_history_reads_as_one(long_run: tuple[Any, str]) -> None:
    service, run = long_run
    events = service.history(run)["events"]
    assert [event["seq"] for event in events] == list(range(1, _TURNS + 2))
    assert [event["actor"] for event in events[1:]] == [f"turn {turn}" for turn in range(_TURNS)]
    part = service.history(run, after=2, limit=3)
    assert [event["seq"] for event in part["events"]] == [3, 4, 5]
    assert part["next"].endswith("after=5)")


def test_no_two_executions_make_the_same_ids(long_run: tuple[Any, str]) -> None:
    service, run = long_run
    shown = [event["shown"] for event in service.history(run)["events"][1:]]
    assert len(set(shown)) == _TURNS


def test_children_at_work_tell_the_execution_that_their_parent_has_become(temporal_box: TemporalBox) -> None:
    text = foreach("", "[a, b, c, d, e, f]")
    service = temporal_box.compile(text).another(renew_after=25)
    reply = service.start("w")
    run = reply["workflow_id"]
    for child in children(reply):
        assert service.submit(child, "look", OK)["status"] == "completed"
    done = service.status(run)
    assert [one["module"] for one in done["result"]] == ["a", "b", "c", "d", "e", "f"]
    assert len(executions(temporal_box, run)) > 1
    assert [event["event"] for event in service.history(run)["events"]] == ["started", *["child_ended"] * 6]


def test_a_parent_that_was_renewed_still_stops_its_children(temporal_box: TemporalBox) -> None:
    service = temporal_box.compile(foreach("", "[a, b, c, d, e, f]")).another(renew_after=15)
    reply = service.start("w")
    first, *rest = children(reply)
    service.submit(first, "look", OK)
    service.cancel(reply["workflow_id"], "enough")
    assert len(executions(temporal_box, reply["workflow_id"])) > 1
    assert {service.status(child)["status"] for child in rest} == {"cancelled"}
