"""Leases: one process at a time has an action, whichever engine keeps the run."""

from __future__ import annotations

import pytest

from tests.runtime.support import Box, TemporalBox, step_ids, steps
from wfc_runtime.errors import RefusedError

WORK = (
    "{id: a, type: delegate, instructions: x, result_schema: {type: object, required: [n]}, output_to: a_out}"
)
GATE = "{id: ok, type: prompt, prompt_type: confirm, message: Deploy?}"
CALL = {"program": "stub", "session": "s", "usd": 0.02, "tokens": 5}


def agent_events(box: Box, run: str) -> list[tuple[str, float]]:
    events = box.service.history(run)["events"]
    return [(one["event"], one["agent"].get("usd", 0)) for one in events if "agent" in one]


def test_one_service_has_an_action_until_it_answers_or_gives_it_back(box: Box) -> None:
    box.compile(steps(WORK, GATE))
    service, other = box.service, box.another()
    run = service.start("w")["workflow_id"]
    assert service.lease(run, "a")
    assert not other.lease(run, "a")
    assert not service.lease(run, "a")
    assert service.renew(run, "a")
    assert not other.renew(run, "a")
    # Others see that it is being done, and can't answer it.
    assert "action" not in other.status(run)
    assert [one["step_id"] for one in other.status(run)["running"]] == ["a"]
    with pytest.raises(RefusedError, match="do not do it yourself"):
        other.submit(run, "a", {"n": 1})
    with pytest.raises(RefusedError, match="is executing `a`"):
        other.update_state(run, {"a_out": {"n": 1}})
    with pytest.raises(RefusedError, match=r"no longer claimed|do not do it"):
        other.submit_leased(run, "a", {"n": 1}, actor="other", call={})
    other.release(run, "a")
    assert service.renew(run, "a")
    service.release(run, "a")
    assert not service.renew(run, "a")
    with pytest.raises(RefusedError, match="no longer claimed"):
        service.submit_leased(run, "a", {"n": 1}, actor="late", call={})
    assert step_ids(service.status(run)) == ["a"]
    # A result that does not fit keeps the lease, and its cost counts once.
    assert other.lease(run, "a")
    with pytest.raises(RefusedError, match="does not fit"):
        other.submit_leased(run, "a", {}, actor="other", call=CALL)
    assert not service.lease(run, "a")
    other.submit_leased(run, "a", {"n": 1}, actor="other", call={"program": "stub"})
    assert step_ids(service.status(run)) == ["ok"]
    assert agent_events(box, run) == [("refused", 0.02), ("submitted", 0)]


def test_nobody_leases_a_prompt_or_what_is_not_pending(box: Box) -> None:
    box.compile(steps(GATE, WORK))
    run = box.service.start("w")["workflow_id"]
    for visit in ("ok", "a", "nothing"):
        assert not box.service.lease(run, visit)
    assert step_ids(box.service.status(run)) == ["ok"]


def test_a_call_that_came_to_nothing_is_paid_and_recorded(box: Box) -> None:
    box.compile(steps(WORK, head="budget: {usd: 0.03}"))
    service = box.service
    run = service.start("w")["workflow_id"]
    for _ in range(2):
        assert service.lease(run, "a")
        service.release(run, "a", call=CALL)
    assert agent_events(box, run) == [("agent_call", 0.02), ("agent_call", 0.02)]
    # The budget is used up: nothing is begun until a person has answered.
    assert step_ids(service.status(run))[0] == "budget@gate"
    assert not service.lease(run, "a")
    service.submit(run, "budget@gate", {"confirmed": True})
    assert service.lease(run, "a")


def test_the_call_for_a_child_that_was_cancelled_is_paid_by_the_run_around_it(box: Box) -> None:
    head = f"budget: {{usd: 0.02}}\ntasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{WORK}]}}}}"
    box.compile(steps("{id: f, type: foreach, items: [1, 2], task: t, join: any}", GATE, head=head))
    service = box.service
    run = service.start("w")["workflow_id"]
    first, second = (one["workflow_id"] for one in service.family(run)["children"])
    assert service.lease(first, "a")
    service.submit(second, "a", {"n": 1})
    assert step_ids(service.status(run)) == ["ok"]
    assert not service.renew(first, "a")
    service.release(first, "a", call=CALL)
    assert agent_events(box, run) == [("agent_call", 0.02)]
    assert step_ids(service.status(run))[0] == "budget@gate"


def test_a_budget_can_be_set_while_children_are_at_work(box: Box) -> None:
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{WORK}]}}}}"
    box.compile(steps("{id: f, type: foreach, items: [1, 2, 3], task: t}", GATE, head=head))
    service = box.service
    run = service.start("w")["workflow_id"]
    first, second, third = (one["workflow_id"] for one in service.family(run)["children"])
    assert service.lease(first, "a")
    service.submit_leased(first, "a", {"n": 1}, actor="stub", call=CALL)
    service.set_budget(run, {"usd": 0.04}, actor="me")
    assert service.lease(second, "a")
    service.submit_leased(second, "a", {"n": 1}, actor="stub", call=CALL)
    # What was spent before counts, and so does what a child spends that began before.
    assert step_ids(service.status(run))[0] == "budget@gate"
    assert "0.04 of 0.04 USD" in str(service.status(run))
    assert not service.lease(third, "a")
    assert "held_back" in service.next_step(third)
    with pytest.raises(RefusedError, match="child run"):
        service.set_budget(third, {"usd": 1})
    # It can be lowered, and is never raised by setting it.
    service.set_budget(run, {"usd": 9})
    assert "0.04 of 0.04 USD" in str(service.status(run))


def test_a_lease_that_is_not_renewed_runs_out(temporal_box: TemporalBox) -> None:
    temporal_box.compile(steps(WORK, GATE))
    service, other = temporal_box.service, temporal_box.another()
    run = service.start("w")["workflow_id"]
    assert service.lease(run, "a", 10)
    temporal_box.clock.pass_(9)
    assert service.renew(run, "a", 10)
    temporal_box.clock.pass_(9)
    assert not other.lease(run, "a", 10)
    temporal_box.clock.pass_(2)
    assert step_ids(other.status(run)) == ["a"]
    assert other.lease(run, "a", 10)
    assert not service.renew(run, "a", 10)
    with pytest.raises(RefusedError, match="no longer claimed"):
        service.submit_leased(run, "a", {"n": 1}, actor="late", call={})
    # Over, but nobody else has taken it: the result is as good as before.
    temporal_box.clock.pass_(60)
    other.submit_leased(run, "a", {"n": 1}, actor="other", call={})
    assert step_ids(service.status(run)) == ["ok"]


def test_a_lease_survives_a_run_that_continues_as_new(temporal_box: TemporalBox) -> None:
    temporal_box.compile(steps(WORK, GATE))
    service, other = temporal_box.another(renew_after=8), temporal_box.another()
    run = service.start("w")["workflow_id"]
    assert service.lease(run, "a")
    for _ in range(6):
        assert service.renew(run, "a")
    assert service.history(run)["events"][0]["event"] == "started"
    assert not other.lease(run, "a")
    service.submit_leased(run, "a", {"n": 1}, actor="stub", call={})
    assert step_ids(service.status(run)) == ["ok"]
