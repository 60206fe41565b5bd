"""Machines from their start to their end: what is asked, what is written, where it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.machine.support import NOON, OK, Drive, compiled, steps
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.events import Start, Submit
from wfc_runtime.machine.step import step

TWO = steps(
    "{id: build, type: shell, command: make, output_to: built}",
    "{id: test, type: shell, needs_state: [built], command: 'test {{ state.built.exit_code }}',"
    " output_to: tested}",
    "{id: done, type: return, needs_state: [tested], value: {code: '{{ state.tested.exit_code }}'}}",
)


def test_a_machine_stops_at_its_first_action_and_asks_for_it() -> None:
    run = Drive(TWO)
    assert run.pending == ["build"]
    action = run.action("build")
    assert (action.type, action.parameters) == ("shell", {"command": "make", "timeout": 30})
    assert action.result_schema["required"] == ["stdout", "exit_code"]


def test_a_result_is_kept_and_the_next_action_is_rendered_with_it() -> None:
    run = Drive(TWO)
    outcome = run.submit("build", {**OK, "exit_code": 2})
    assert outcome.written == {"built": {**OK, "exit_code": 2}}
    assert (outcome.left, outcome.entered) == (["build"], ["test"])
    assert run.action("test").parameters["command"] == "test 2"


def test_a_machine_completes_with_what_it_returns() -> None:
    run = Drive(TWO)
    run.submit("build", OK)
    run.submit("test", {**OK, "exit_code": 7})
    assert (run.at.status, run.at.result, run.pending) == ("completed", {"code": 7}, [])


def test_a_machine_without_a_return_completes_with_its_state() -> None:
    run = Drive(
        steps("{id: a, type: set_state, updates: {x: 1, y: '{{ x + 1 }}'}}", head="initial_state: {z: 0}")
    )
    assert (run.at.status, run.at.result) == ("completed", {"z": 0, "x": 1, "y": 2})


def test_a_return_of_nothing_is_null_and_not_the_state() -> None:
    run = Drive(steps("{id: a, type: set_state, updates: {x: 1}}", "{id: b, type: return}"))
    assert (run.at.status, run.at.result) == ("completed", None)


def test_the_same_events_give_the_same_bytes() -> None:
    text = steps(
        "{id: a, type: set_state, updates: {u: '{{ uuid() }}', t: '{{ now().isoformat() }}'}}",
        "{id: b, type: shell, needs_state: [u], command: 'echo {{ state.u }} {{ uuid() }}', output_to: out}",
    )
    one, other = Drive(text), Drive(text)
    assert one.at.to_json() == other.at.to_json()
    one.submit("b", OK)
    other.submit("b", OK)
    assert one.at.to_json() == other.at.to_json()


def test_each_uuid_of_a_run_is_another() -> None:
    run = Drive(
        steps(
            "{id: a, type: set_state, updates: {u: '{{ uuid() }}', v: '{{ uuid() }}'}}",
            "{id: b, type: set_state, updates: {w: '{{ uuid() }}'}}",
        )
    )
    assert len({run.at.state[name] for name in "uvw"}) == 3


def test_time_comes_from_the_event() -> None:
    run = Drive(steps("{id: a, type: return, value: '{{ now().timestamp() }}'}"))
    assert run.at.result == NOON


def test_a_condition_takes_one_branch_and_goes_on_behind_both() -> None:
    text = steps(
        "{id: c, type: condition, if: '{{ inputs.yes }}',"
        " then: [{id: t, type: set_state, updates: {was: then}}],"
        " else: [{id: e, type: set_state, updates: {was: else}}]}",
        "{id: r, type: return, needs_state: [was], value: '{{ state.was }}'}",
        head="inputs: {yes: {type: boolean, required: true}}",
    )
    assert Drive(text, {"yes": True}).at.result == "then"
    assert Drive(text, {"yes": False}).at.result == "else"


def test_a_step_whose_when_is_false_is_skipped() -> None:
    text = steps(
        "{id: a, type: shell, command: x, when: '{{ inputs.go }}'}",
        head="inputs: {go: {type: boolean, default: false}}",
    )
    assert Drive(text).at.status == "completed"
    assert Drive(text, {"go": True}).pending == ["a"]


LOOP = steps(
    "{id: improve, type: shell, command: fix, output_to: out}",
    "{id: again, type: goto, target: improve, max_iterations: 2, else: stop}",
    "{id: stop, type: return, value: stopped}",
)


def test_a_visit_in_a_loop_has_a_name_of_its_own() -> None:
    run = Drive(LOOP)
    for visit in ("improve", "improve@2", "improve@3"):
        assert run.pending == [visit]
        run.submit(visit, OK)
    assert run.at.result == "stopped"
    assert run.outcomes[-1].notes[0]["code"] == "max_iterations"


def test_a_late_duplicate_cannot_answer_the_next_visit() -> None:
    run = Drive(LOOP)
    run.submit("improve", OK)
    with pytest.raises(RefusedError, match="`improve` is no longer pending") as caught:
        run.submit("improve", OK)
    assert caught.value.hint == "Pending: `improve@2`."


def test_a_goto_that_is_used_up_without_an_else_fails_the_run() -> None:
    text = steps(
        "{id: a, type: shell, command: x, output_to: out}",
        "{id: b, type: goto, needs_state: [out], when: '{{ state.out.exit_code }}',"
        " target: a, max_iterations: 1}",
    )
    run = Drive(text)
    run.submit("a", {**OK, "exit_code": 1})
    run.submit("a@2", {**OK, "exit_code": 1})
    assert run.at.status == "failed"
    assert run.error["code"] == "max_iterations"
    assert run.error["step_id"] == "b@2"


WHILE = """
name: w
version: 1.0.0
initial_state: {n: 0}
steps:
  - id: loop
    type: while
    needs_state: [n]
    if: "{{ state.n < 3 }}"
    max_iterations: 5
    steps:
      - {id: ask, type: prompt, prompt_type: confirm, message: stop?, output_to: answer}
      - id: stop
        type: condition
        needs_state: [answer]
        if: "{{ state.answer.confirmed }}"
        then: [{id: b, type: break}]
      - {id: bump, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
  - {id: r, type: return, needs_state: [n], value: "{{ state.n }}"}
"""


def test_a_while_repeats_until_its_condition_is_false() -> None:
    run = Drive(WHILE)
    for visit in ("ask", "ask@2", "ask@3"):
        run.submit(visit, {"confirmed": False})
    assert run.at.result == 3


def test_a_break_leaves_the_loop() -> None:
    run = Drive(WHILE)
    run.submit("ask", {"confirmed": False})
    run.submit("ask@2", {"confirmed": True})
    assert run.at.result == 1


def test_a_loop_that_is_entered_again_counts_its_turns_anew() -> None:
    inner = WHILE.replace("max_iterations: 5", "max_iterations: 3").replace(
        "  - {id: r, type: return",
        "  - {id: reset, type: set_state, updates: {n: 0}}\n"
        "  - {id: once, type: goto, target: loop, max_iterations: 1, else: r}\n  - {id: r, type: return",
    )
    run = Drive(inner)
    for number in range(1, 7):
        run.submit("ask" if number == 1 else f"ask@{number}", {"confirmed": False})
    assert run.at.status == "completed"


def test_a_while_that_would_go_on_beyond_its_bound_fails() -> None:
    run = Drive(WHILE.replace("max_iterations: 5", "max_iterations: 2"))
    run.submit("ask", {"confirmed": False})
    run.submit("ask@2", {"confirmed": False})
    assert (run.at.status, run.error["code"]) == ("failed", "max_iterations")


def test_updates_of_one_set_state_are_written_together_or_not_at_all() -> None:
    run = Drive(
        steps(
            "{id: a, type: set_state, needs_state: [n], updates: {x: 1, y: '{{ 1 / state.n }}'}}",
            head="initial_state: {n: 0}",
        )
    )
    assert (run.at.status, run.at.state) == ("failed", {"n": 0})


def test_a_run_that_has_ended_refuses_everything() -> None:
    run = Drive(steps("{id: a, type: return, value: 1}"))
    with pytest.raises(RefusedError, match="the run is completed"):
        run.submit("a", {})
    with pytest.raises(RefusedError, match="the run is completed"):
        run.cancel()


def test_a_run_is_started_once_and_first() -> None:
    run = Drive(TWO)
    with pytest.raises(RefusedError, match="already been started"):
        run.feed(Start(at=NOON, id="x"))
    with pytest.raises(RefusedError, match="has not been started"):
        step(compiled(TWO).machine, None, Submit(at=NOON, id="x", visit="build", result={}))


def test_a_refusal_tells_a_step_that_is_unknown_from_one_not_reached() -> None:
    run = Drive(TWO)
    with pytest.raises(RefusedError, match="the run has no step `nope`"):
        run.submit("nope", {})
    with pytest.raises(RefusedError, match="`test` has not been reached"):
        run.submit("test", {})


def test_cancelling_ends_a_run_with_the_reason() -> None:
    run = Drive(TWO)
    run.cancel("changed my mind")
    assert (run.at.status, run.error["message"], run.pending) == ("cancelled", "changed my mind", [])


def test_inputs_are_there_to_read_and_a_step_sees_only_the_fields_it_declares() -> None:
    text = steps(
        "{id: a, type: shell, needs_state: [secret], command: 'echo {{ state.secret }} {{ inputs.who }}'}",
        head="inputs: {who: {type: string, default: me}}\ninitial_state: {secret: s, other: o}",
    )
    machine = compiled(text).machine
    run = Drive(machine)
    assert run.action("a").parameters["command"] == "echo s me"
    blind = type("Blind", (machine,), {"steps": {"a": replace(machine.steps["a"], reads=())}})
    failed = Drive(blind)
    assert (failed.at.status, failed.error["code"]) == ("failed", "state_access")
    assert "needs_state" in failed.error["message"]
