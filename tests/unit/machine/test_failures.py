"""Steps that fail: tried again, recovered from, or the end of the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.machine.support import NOON, OK, Drive, compiled, steps
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.effects import Ask, moment
from wfc_runtime.machine.events import Submit
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import Limits

NUMBER = "inputs: {n: {type: number, required: true}}"
UNTYPED = "inputs: {n: {type: array, default: [text]}}"
RETRIED = steps(
    "{id: call, type: mcp_call, tool: t, parameters: {}, output_to: out,"
    " retry: {max_attempts: 3, delay_seconds: 5, backoff: 2}}",
    "{id: r, type: return, needs_state: [out], value: '{{ state.out }}'}",
)


def test_a_step_that_the_agent_could_not_do_is_tried_again_after_a_pause() -> None:
    run = Drive(RETRIED)
    outcome = run.submit("call", {"error": "no network"})
    assert outcome.notes == [
        {"retried": 1, "code": "agent_error", "message": "no network", "step_id": "call"}
    ]
    assert run.pending == ["call@retry"]
    action = run.action("call@retry")
    assert (action.type, action.parameters["duration_seconds"], action.parameters["attempt"]) == (
        "wait",
        5,
        2,
    )
    run.wait(4.9)
    assert run.pending == ["call@retry"]
    run.wait(0.1)
    assert run.pending == ["call@2"]


def test_the_pause_grows_and_the_last_attempt_fails_the_run() -> None:
    run = Drive(RETRIED)
    run.submit("call", {"error": "one"})
    run.wait(5)
    run.submit("call@2", {"error": "two"})
    assert run.one("call@2@retry").resume_at == NOON + 15
    run.wait(10)
    run.submit("call@3", {"error": "three"})
    assert run.at.status == "failed"
    assert run.error == {"code": "agent_error", "message": "three", "step_id": "call@3"}


def test_a_later_attempt_that_succeeds_goes_on_as_if_nothing_had_been() -> None:
    run = Drive(RETRIED)
    run.submit("call", {"error": "one"})
    run.wait(5)
    run.submit("call@2", 42)
    assert (run.at.result, run.at.attempts) == (42, {})


def test_a_retry_without_a_delay_asks_again_at_once() -> None:
    run = Drive(steps("{id: a, type: shell, command: x, retry: {max_attempts: 2}}"))
    run.submit("a", {"error": "no"})
    assert run.pending == ["a@2"]


def test_attempts_count_anew_when_a_loop_comes_back() -> None:
    text = steps(
        "{id: a, type: shell, command: x, retry: {max_attempts: 2}, on_error: continue}",
        "{id: b, type: goto, target: a, max_iterations: 1, else: c}",
        "{id: c, type: return, value: 1}",
    )
    run = Drive(text)
    run.submit("a", {"error": "1"})
    run.submit("a@2", {"error": "2"})
    run.submit("a@3", {"error": "3"})
    assert run.pending == ["a@4"]


def test_answering_a_pause_early_is_refused_and_later_ends_it() -> None:
    run = Drive(RETRIED)
    run.submit("call", {"error": "no"})
    with pytest.raises(RefusedError, match="waits for another 5 s"):
        run.submit("call@retry", {})
    run.now += 5
    run.submit("call@retry", {})
    assert run.pending == ["call@2"]


def test_on_error_continue_goes_on_behind_the_step() -> None:
    run = Drive(
        steps("{id: a, type: shell, command: x, on_error: continue}", "{id: b, type: return, value: on}")
    )
    outcome = run.submit("a", {"error": "no"})
    assert run.at.result == "on"
    assert outcome.notes[0]["recovered"] is True


def test_on_error_defer_goes_on_behind_the_step_and_fails_the_run_at_its_end() -> None:
    run = Drive(
        steps(
            "{id: a, type: shell, command: x, on_error: defer, output_to: a}",
            "{id: b, type: shell, command: y}",
            "{id: c, type: return, value: on}",
        )
    )
    outcome = run.submit("a", {"error": "no"})
    assert outcome.notes == [{"deferred": True, "code": "agent_error", "message": "no", "step_id": "a"}]
    assert (run.at.status, run.pending) == ("running", ["b"])
    run.submit("b", OK)
    assert (run.at.status, run.at.result) == ("failed", None)
    assert run.error == {"code": "agent_error", "message": "no", "step_id": "a"}


def test_a_deferred_failure_waits_for_the_end_of_a_flow_without_a_return() -> None:
    text = steps("{id: a, type: shell, command: x, on_error: defer}", "{id: b, type: shell, command: y}")
    run = Drive(text)
    run.submit("a", {"error": "no"})
    run.submit("b", OK)
    assert (run.at.status, run.error["step_id"]) == ("failed", "a")
    run = Drive(text)
    run.submit("a", OK)
    run.submit("b", OK)
    assert (run.at.status, run.at.error) == ("completed", None)


def test_the_first_deferred_failure_is_told_whatever_fails_after_it() -> None:
    text = steps(
        "{id: a, type: shell, command: x, on_error: defer}",
        "{id: b, type: shell, command: y, on_error: defer}",
        "{id: c, type: shell, command: z}",
    )
    run = Drive(text)
    run.submit("a", {"error": "one"})
    run.submit("b", {"error": "two"})
    run.submit("c", {"error": "three"})
    assert run.error == {"code": "agent_error", "message": "one", "step_id": "a"}


def test_a_deferred_failure_leaves_the_other_branches_alone() -> None:
    text = steps(
        "{id: p, type: parallel, branches: {l: [{id: a, type: shell, command: x, on_error: defer}],"
        " r: [{id: b, type: shell, command: y}]}}",
        "{id: c, type: shell, command: z}",
    )
    run = Drive(text)
    run.submit("a", {"error": "no"})
    assert run.pending == ["b"]
    run.submit("b", OK)
    run.submit("c", OK)
    assert (run.at.status, run.error["step_id"]) == ("failed", "a")


def test_a_when_that_fails_is_deferred_with_its_step() -> None:
    text = steps(
        "{id: a, type: shell, command: x, when: '{{ inputs.n[0] < 1 }}', on_error: defer}",
        "{id: b, type: shell, command: y}",
        head=UNTYPED,
    )
    run = Drive(text)
    assert run.pending == ["b"]
    run.submit("b", OK)
    assert (run.at.status, run.error["code"], run.error["step_id"]) == ("failed", "expression", "a")


def test_a_deferred_failure_is_kept_between_events_and_forgotten_by_a_cancel() -> None:
    text = steps("{id: a, type: shell, command: x, on_error: defer}", "{id: b, type: shell, command: y}")
    run = Drive(text)
    run.submit("a", {"error": "no"})
    kept = Snapshot.from_json(run.at.to_json())
    assert kept.error == {"code": "agent_error", "message": "no", "step_id": "a"}
    run.cancel("enough")
    assert (run.at.status, run.error["message"]) == ("cancelled", "enough")


def test_on_error_goto_goes_to_its_step() -> None:
    run = Drive(
        steps(
            "{id: a, type: shell, command: x, on_error: {goto: help}}",
            "{id: b, type: return, value: straight}",
            "{id: help, type: return, value: helped}",
        )
    )
    run.submit("a", {"error": "no"})
    assert run.at.result == "helped"


def test_an_expression_that_fails_fails_its_step_with_the_place() -> None:
    run = Drive(steps("{id: a, type: set_state, updates: {x: '{{ inputs.n[0] - 1 }}'}}", head=UNTYPED))
    assert (run.at.status, run.error["code"], run.error["step_id"]) == ("failed", "expression", "a")
    assert "inputs.n[0] - 1" in run.error["message"]


def test_a_condition_that_fails_fails_its_step() -> None:
    text = steps(
        "{id: c, type: condition, if: '{{ inputs.n[0] < 1 }}', then: [{id: t, type: shell, command: x}]}",
        head=UNTYPED,
    )
    run = Drive(text)
    assert (run.at.status, run.error["step_id"]) == ("failed", "c")


def test_a_when_that_fails_follows_the_on_error_of_its_step() -> None:
    text = steps(
        "{id: a, type: shell, when: '{{ inputs.n[0] < 1 }}', command: x, on_error: continue}",
        "{id: b, type: return, value: on}",
        head=UNTYPED,
    )
    assert Drive(text).at.result == "on"


ASKED = steps(
    "{id: a, type: delegate, instructions: count, output_to: out, on_error: continue,"
    " result_schema: {type: object, required: [n], properties: {n: {type: integer}}}}",
    "{id: r, type: return, value: end}",
)


def test_a_result_that_does_not_fit_is_refused_with_what_is_wrong_and_stays_pending() -> None:
    run = Drive(ASKED)
    outcome = run.submit("a", {"n": "three"})
    assert outcome.refusal is not None
    assert outcome.refusal.code == "result_misfit"
    assert "result.n: 'three' is not of type 'integer'" in outcome.refusal.message
    assert run.pending == ["a"]
    assert run.one("a").misfits == 1


def test_the_third_misfit_fails_the_step() -> None:
    run = Drive(ASKED)
    assert run.submit("a", {}).refusal is not None
    assert run.submit("a", {}).refusal is not None
    outcome = run.submit("a", {})
    assert outcome.refusal is None
    assert outcome.notes[0]["code"] == "result_misfit"
    assert run.at.result == "end"


def test_with_a_retry_its_attempts_are_how_often_a_result_may_miss() -> None:
    text = ASKED.replace("on_error: continue", "on_error: continue, retry: {max_attempts: 2}")
    run = Drive(text)
    assert run.submit("a", {}).refusal is not None
    run.submit("a", {})
    assert run.at.result == "end"


def test_a_schema_that_cannot_be_used_fails_the_step_instead_of_blaming_the_agent() -> None:
    text = steps(
        "{id: a, type: delegate, instructions: x, result_schema: {$ref: 'https://example.invalid/x.json'}}"
    )
    run = Drive(text)
    run.submit("a", {})
    assert (run.at.status, run.error["code"]) == ("failed", "result_schema")


def test_a_choice_takes_only_what_was_offered() -> None:
    text = steps(
        "{id: p, type: prompt, prompt_type: choice, message: which?, options: ['{{ inputs.a }}', other],"
        " output_to: o}",
        "{id: r, type: return, needs_state: [o], value: '{{ state.o.selected }}'}",
        head="inputs: {a: {type: string, default: first}}",
    )
    run = Drive(text)
    assert run.action("p").result_schema["properties"]["selected"]["enum"] == ["first", "other"]
    assert run.submit("p", {"selected": "third"}).refusal is not None
    run.submit("p", {"selected": "first"})
    assert run.at.result == "first"


@pytest.mark.parametrize("result", [{"error": None}, {"error": ""}, {"error": "x", "more": 1}])
def test_only_a_bare_error_with_content_means_that_the_step_failed(result: dict[str, object]) -> None:
    run = Drive(steps("{id: a, type: mcp_call, tool: t, parameters: {}, output_to: o}"))
    run.submit("a", result)
    assert run.at.result == {"o": result}


def test_a_command_that_ends_with_an_error_code_has_not_failed() -> None:
    run = Drive(steps("{id: a, type: shell, command: x, output_to: o}"))
    run.submit("a", {**OK, "exit_code": 1})
    assert run.at.status == "completed"


def test_a_reported_timeout_fails_the_step() -> None:
    run = Drive(steps("{id: a, type: shell, command: x, timeout: 5}"))
    run.submit("a", {**OK, "timed_out": True})
    assert run.error["code"] == "timeout"


@pytest.mark.parametrize(
    "step",
    [
        "{id: a, type: shell, command: x, timeout: 5, output_to: o}",
        "{id: a, type: shell, command: x, timeout: '{{ 2 + 3 }}', output_to: o}",
        "{id: a, type: mcp_call, tool: t, parameters: {}, timeout: 5, output_to: o}",
        "{id: a, type: delegate, instructions: x, timeout: 5, output_to: o}",
    ],
)
def test_an_action_that_nobody_answers_in_time_is_overdue_and_a_late_result_is_accepted(step: str) -> None:
    run = Drive(steps(step))
    run.wait(10_000_000)
    assert run.pending == ["a"]
    assert run.at.pending["a"].overdue_at == NOON + 5
    run.submit("a", {**OK, "response": "done"})
    assert run.at.status == "completed"


def test_a_step_fails_at_its_deadline_and_is_tried_again_as_its_retry_says() -> None:
    run = Drive(steps("{id: a, type: shell, command: x, deadline: 15, retry: {max_attempts: 2}}"))
    run.wait(14.9)
    assert run.pending == ["a"]
    assert run.action("a").parameters["deadline"] == moment(NOON + 15)
    outcome = run.wait(0.2)
    assert run.pending == ["a@2"]
    assert outcome.notes[0]["code"] == "deadline"


def test_a_prompt_has_a_deadline_and_takes_its_error_edge() -> None:
    run = Drive(
        steps(
            "{id: a, type: prompt, prompt_type: confirm, message: x, deadline: 60, on_error: {goto: b}}",
            "{id: c, type: shell, command: x}",
            "{id: b, type: shell, command: y}",
        )
    )
    run.wait(60)
    assert run.pending == ["b"]


def test_a_person_may_give_any_number_of_answers_that_do_not_fit() -> None:
    run = Drive(
        steps("{id: a, type: prompt, prompt_type: choice, message: x, options: [one, two], output_to: o}")
    )
    for _ in range(20):
        refusal = run.submit("a", {"selected": "onne"}).refusal
        assert refusal is not None
        assert refusal.code == "result_misfit"
    run.submit("a", {"selected": "one"})
    assert run.at.status == "completed"


def test_a_deadline_that_an_earlier_version_gave_every_timeout_fails_nothing() -> None:
    run = Drive(steps("{id: a, type: shell, command: x, timeout: 5}"))
    pending = run.at.pending["a"]
    pending.deadline, pending.overdue_at = NOON + 35, None
    run.wait(40)
    assert run.pending == ["a"]
    assert run.at.due is None
    assert run.at.pending["a"].overdue_at == NOON + 35


def test_a_wait_of_no_seconds_ends_at_once() -> None:
    run = Drive(steps("{id: w, type: wait, duration_seconds: 0, output_to: o}"))
    assert run.at.result == {"o": {"resumed": True, "duration": 0, "duration_seconds": 0}}


def test_a_wait_ends_by_itself_when_the_time_has_come() -> None:
    run = Drive(steps("{id: w, type: wait, duration_seconds: 30, output_to: o}"))
    action = run.action("w")
    assert action.parameters == {"duration_seconds": 30, "resume_at": "2023-11-14T22:13:50Z"}
    with pytest.raises(RefusedError, match="waits for another 30 s"):
        run.submit("w", {})
    run.wait(30)
    assert run.at.result == {"o": {"resumed": True, "duration": 30, "duration_seconds": 30}}


# -- limits ----------------------------------------------------------------------


def test_a_result_over_the_limit_is_refused_and_the_step_can_still_be_answered() -> None:
    run = Drive(steps("{id: a, type: shell, command: x}"), limits=Limits(result_bytes=100))
    with pytest.raises(RefusedError, match="the limit is 100"):
        run.submit("a", {**OK, "stdout": "x" * 200})
    run.submit("a", OK)
    assert run.at.status == "completed"


@pytest.mark.parametrize(
    "result", [float("nan"), {"a": float("inf")}, "\ud800", {"\udfff": 1}, {1: 2}, {"a": {1, 2}}]
)
def test_a_result_that_is_not_plain_json_is_refused(result: object) -> None:
    run = Drive(steps("{id: a, type: mcp_call, tool: t, parameters: {}}"))
    with pytest.raises(RefusedError) as caught:
        run.submit("a", result)
    assert caught.value.code == "result_unfit"


def test_a_result_nested_beyond_the_limit_is_refused() -> None:
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    run = Drive(steps("{id: a, type: mcp_call, tool: t, parameters: {}}"))
    with pytest.raises(RefusedError, match="nested too deeply"):
        run.submit("a", deep)


def test_a_state_that_would_grow_too_large_fails_the_step_and_keeps_the_old_state() -> None:
    run = Drive(steps("{id: a, type: shell, command: x, output_to: o}"), limits=Limits(state_bytes=100))
    run.submit("a", {**OK, "stdout": "x" * 100})
    assert (run.at.status, run.error["code"], run.at.state) == ("failed", "state_size", {})


def test_what_the_server_did_by_itself_may_be_larger_and_the_run_keeps_the_room_for_it() -> None:
    two = steps(*(f"{{id: {name}, type: shell, command: x, output_to: {name}}}" for name in "ab"))
    run = Drive(two, limits=Limits(result_bytes=100, state_bytes=200, served_bytes=500))
    large = {**OK, "stdout": "x" * 400}
    with pytest.raises(RefusedError, match="the limit is 100"):
        run.submit("a", large)
    with pytest.raises(RefusedError, match="the limit is 500"):
        run.feed(Submit(at=run.now, id=run.id(), visit="a", result={"stdout": "x" * 600}, served=True))
    run.feed(Submit(at=run.now, id=run.id(), visit="a", result=large, served=True))
    assert Snapshot.from_json(run.at.to_json()).room == run.at.room > run.at.size > 200
    run.submit("b", OK)
    assert run.at.status == "completed"


def test_the_size_of_the_state_is_counted_to_the_byte() -> None:
    from wfc_runtime.machine.values import size_of

    run = Drive(
        steps(
            "{id: a, type: set_state, updates: {x: 1, y: 'ünï'}}",
            "{id: b, type: set_state, needs_state: [x], updates: {x: '{{ [state.x] * 40 }}', z: null}}",
            "{id: c, type: set_state, updates: {x: 2}}",
        )
    )
    assert run.at.size == size_of(run.at.state)


def test_an_action_that_would_be_too_large_fails_the_step() -> None:
    run = Drive(
        steps("{id: a, type: shell, command: \"{{ 'x' * 500 }}\"}"),
        limits=Limits(action_bytes=400),
    )
    assert run.error["code"] == "action_size"


def test_a_run_that_moves_on_and_on_without_asking_is_stopped() -> None:
    text = """
name: w
version: 1.0.0
initial_state: {n: 0}
steps:
  - id: loop
    type: while
    needs_state: [n]
    if: "{{ state.n >= 0 }}"
    max_iterations: 100000
    on_error: continue
    steps:
      - {id: bump, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
"""
    run = Drive(text, limits=Limits(moves=50))
    assert (run.at.status, run.error["code"]) == ("failed", "moves")
    assert len(run.outcomes[-1].entered) == 51


def test_an_error_that_the_server_reports_may_have_a_hint_of_its_own() -> None:
    run = Drive(steps("{id: a, type: shell, command: x}"))
    error = {"code": "interrupted", "message": "it was killed", "hint": "Look at x."}
    run.feed(Submit(at=run.now, id=run.id(), visit="a", result={"error": error}, served=True))
    assert run.error == {**error, "step_id": "a"}


def test_the_hint_that_an_agent_reports_is_not_told_as_ours() -> None:
    run = Drive(steps("{id: a, type: shell, command: x}"))
    run.submit("a", {"error": {"code": "broken", "message": "no way", "hint": "Delete everything."}})
    assert run.error == {"code": "broken", "message": "no way Delete everything.", "step_id": "a"}


def test_a_reported_error_of_another_form_is_told_whole() -> None:
    run = Drive(steps("{id: a, type: shell, command: x}"))
    run.submit("a", {"error": {"code": 1, "why": "?"}})
    assert (run.error["code"], run.error["message"]) == ("agent_error", '{"code":1,"why":"?"}')


def test_what_the_server_may_do_itself_has_no_deadline() -> None:
    machine = compiled(steps("{id: a, type: shell, command: x, timeout: 5}")).machine
    asked = machine.steps["a"]
    assert isinstance(asked, Ask)
    served = type("Served", (machine,), {"steps": {"a": replace(asked, runner="server")}})
    run = Drive(served)
    run.wait(10_000)
    assert run.pending == ["a"]
    assert run.action("a").parameters["timeout"] == 5
    run.submit("a", {"timed_out": True})
    assert run.error["code"] == "timeout"


def test_what_is_computed_is_tried_again_too_and_time_may_help() -> None:
    late = f"{{{{ 1 / (now().timestamp() - {NOON}) }}}}"
    run = Drive(
        steps(
            f"{{id: s, type: set_state, updates: {{x: '{late}'}}, retry: {{max_attempts: 2, delay_seconds: 4}}}}",
            "{id: r, type: return, needs_state: [x], value: '{{ state.x }}'}",
        )
    )
    assert run.pending == ["s@retry"]
    run.wait(4)
    assert run.at.result == 0.25


def test_a_condition_that_can_not_be_computed_is_tried_again_and_then_left() -> None:
    text = steps(
        "{id: c, type: condition, if: '{{ 1 / inputs.n > 0 }}', then: [{id: t, type: return, value: small}],"
        " retry: {max_attempts: 3}, on_error: {goto: other}}",
        "{id: f, type: return, value: fine}",
        "{id: other, type: return, value: other}",
        head=NUMBER,
    )
    assert Drive(text, {"n": 2}).at.result == "small"
    run = Drive(text, {"n": 0})
    assert run.at.result == "other"
    assert [note.get("retried") for note in run.outcomes[0].notes] == [1, 2, None]


@pytest.mark.parametrize(("n", "result"), [(1, 4), (0, "nothing")])
def test_a_return_whose_value_can_not_be_computed_goes_on_as_it_says(n: int, result: object) -> None:
    text = steps(
        "{id: r, type: return, value: '{{ 4 / inputs.n }}', on_error: continue}",
        "{id: s, type: return, value: nothing}",
        head=NUMBER,
    )
    assert Drive(text, {"n": n}).at.result == result


def test_a_return_that_fails_at_the_very_end_leaves_the_state_as_the_result() -> None:
    text = steps(
        "{id: s, type: set_state, updates: {x: 1}}",
        "{id: r, type: return, value: '{{ 4 / inputs.n }}', on_error: continue}",
        head=NUMBER,
    )
    assert Drive(text, {"n": 0}).at.result == {"x": 1}
