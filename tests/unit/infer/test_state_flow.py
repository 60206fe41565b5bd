"""What a state field is at each step: which definitions come there, and under which conditions."""

from __future__ import annotations

import textwrap

import pytest

from tests.support import check
from tests.unit.infer.support import field_types, file_types

HEAD = """
name: w
version: "1"
inputs:
  gate: {type: boolean, default: false}
  other: {type: boolean, default: false}
  rounds: {type: number, default: 2}
  least: {type: number, default: 2, validation: {min: 1}}
  picked: {type: integer, required: true, enum: [2, 4]}
  some: {type: array, required: true, min_items: 1}
  any: {type: array, required: true}
"""
READ = '{id: read, type: return, needs_state: [made], value: "{{ state.made.response }}"}'
MAKE = "{id: make, type: delegate, instructions: Make it., output_to: made}"


def found(steps: str, more: str = "") -> list[str]:
    text = HEAD + more + "steps:\n" + textwrap.indent(textwrap.dedent(steps).strip("\n"), "  ") + "\n"
    ours = {"WF217", "WF304", "WF305"}
    return [f"{one.code} {one.message}" for one in check(text) if one.code in ours]


def test_a_field_that_every_path_writes_is_there() -> None:
    assert found(f"- {MAKE}\n- {READ}") == []


def test_a_field_that_no_path_writes_is_read_before_it_is_written() -> None:
    assert found(f"- {READ.replace('return', 'delegate').replace('value', 'instructions')}\n- {MAKE}") == [
        "WF304 `made` is never set here: no step before `read` writes it"
    ]


def test_a_field_under_when_may_not_be_there() -> None:
    steps = f'- {MAKE[:-1]}, when: "{{{{ inputs.gate }}}}"}}\n- {READ}'
    assert found(steps) == [
        "WF305 `made` may be unset: nothing writes it on the path where `inputs.gate` is false"
    ]


@pytest.mark.parametrize(
    "guard",
    [
        "inputs.gate",
        "inputs.gate and inputs.other",
        "inputs.other and (inputs.rounds > 1 and inputs.gate)",
        "not not inputs.gate",
        "state.made is defined",
    ],
)
def test_a_field_read_under_the_condition_under_which_it_was_written_is_there(guard: str) -> None:
    steps = f"""
    - {MAKE[:-1]}, when: "{{{{ inputs.gate }}}}"}}
    - {{id: show, type: delegate, needs_state: [made], when: "{{{{ {guard} }}}}", instructions: "{{{{ state.made }}}}"}}
    """
    assert found(steps) == []


@pytest.mark.parametrize("guard", ["inputs.other", "not inputs.gate", "inputs.gate or inputs.other"])
def test_another_condition_does_not_do(guard: str) -> None:
    steps = f"""
    - {MAKE[:-1]}, when: "{{{{ inputs.gate }}}}"}}
    - {{id: show, type: delegate, needs_state: [made], when: "{{{{ {guard} }}}}", instructions: "{{{{ state.made }}}}"}}
    """
    assert [one[:5] for one in found(steps)] == ["WF305"]


def test_a_condition_counts_no_more_once_what_it_looked_at_was_written() -> None:
    steps = f"""
    - {MAKE[:-1]}, needs_state: [go], when: "{{{{ state.go }}}}"}}
    - {{id: change, type: set_state, updates: {{go: true}}}}
    - id: show
      type: delegate
      needs_state: [go, made]
      when: "{{{{ state.go }}}}"
      instructions: "{{{{ state.made }}}}"
    """
    assert found(steps, "initial_state: {go: false}\n") == [
        "WF305 `made` may be unset: nothing writes it on the path where `state.go` is false"
    ]


def test_the_opposite_of_a_condition_is_known_again() -> None:
    steps = f"""
    - {{id: build, type: shell, command: make, output_to: build}}
    - {MAKE[:-1]}, needs_state: [build], when: "{{{{ state.build.exit_code != 0 }}}}"}}
    - id: stop
      type: condition
      needs_state: [build]
      if: "{{{{ state.build.exit_code == 0 }}}}"
      then: [{{id: fine, type: return, value: fine}}]
    - {READ}
    """
    assert found(steps) == []


def test_a_step_that_may_fail_and_be_passed_over_may_have_written_nothing() -> None:
    assert found(f"- {MAKE[:-1]}, on_error: continue}}\n- {READ}") == [
        "WF305 `made` may be unset: nothing writes it on the path where `make` fails"
    ]


def test_what_is_read_once_was_there_and_is_not_reported_twice() -> None:
    again = READ.replace("read", "again", 1)
    steps = f"""
    - {MAKE[:-1]}, on_error: continue}}
    - {{id: show, type: delegate, needs_state: [made], instructions: "{{{{ state.made.response }}}}"}}
    - {again}
    """
    assert len(found(steps)) == 1


@pytest.mark.parametrize(("limit", "count"), [("3", 0), ("inputs.least", 0), ("inputs.rounds", 1), ("0", 1)])
def test_a_loop_that_certainly_takes_a_turn_has_written_what_its_steps_write(limit: str, count: int) -> None:
    steps = f"""
    - id: loop
      type: while
      needs_state: [tries]
      if: "{{{{ state.tries < {limit} }}}}"
      max_iterations: 5
      steps:
        - {MAKE}
        - {{id: count, type: set_state, needs_state: [tries], updates: {{tries: "{{{{ state.tries + 1 }}}}"}}}}
    - {READ}
    """
    assert len(found(steps, "initial_state: {tries: 0}\n")) == count


@pytest.mark.parametrize(
    "condition",
    [
        "state.tries < inputs.picked",
        "inputs.picked > state.tries",
        "state.tries < inputs.some | length",
        "state.tries < (inputs.some | length)",
        "state.tries + 1 < 5",
        "state.tries * 2 < state.left - 1",
        "-1 < state.tries",
        "0 <= state.tries < 3",
        "state.left > 0",
        "state.phase in ['start', 'work']",
        "state.phase not in ['done', 'failed']",
        "state.phase != 'done'",
        "state.queue",
        "state.queue | length",
        "state.queue | length > 0",
        "not state.queue | length == 0",
        "state.phase | length > 3",
        "not state.stop",
        "state.stop == false",
        "state.result is none or state.result.exit_code",
        "state.result is none",
        "true",
    ],
)
def test_a_loop_whose_condition_holds_at_first_has_written_what_its_steps_write(condition: str) -> None:
    assert found(_loop(condition), _START) == []


@pytest.mark.parametrize(
    "condition",
    [
        "state.tries < inputs.rounds",
        "state.tries < inputs.any | length",
        "state.tries + 5 < 5",
        "(state.half | int) > 0",
        "0 < state.tries < 3",
        "state.left < 0",
        "state.phase in ['work']",
        "state.phase in inputs.any",
        "state.phase | length > 5",
        "inputs.any",
        "state.stop",
        "state.result is not none",
        "state.tries < state.phase",
    ],
)
def test_a_loop_whose_condition_may_fail_at_first_may_not_have_written_anything(condition: str) -> None:
    assert len([one for one in found(_loop(condition), _START) if one.startswith("WF305")]) == 1


_START = (
    "initial_state: {tries: 0, left: 3, half: 0.5, phase: start, queue: [a, b], stop: false, result: null}\n"
)


def _loop(condition: str) -> str:
    return f"""
    - id: loop
      type: while
      needs_state: [half, left, phase, queue, result, stop, tries]
      if: "{{{{ {condition} }}}}"
      max_iterations: 5
      steps:
        - {MAKE}
        - {{id: run, type: shell, command: make, output_to: result}}
        - id: count
          type: set_state
          needs_state: [left, queue, tries]
          updates:
            tries: "{{{{ state.tries + 1 }}}}"
            left: "{{{{ state.left - 1 }}}}"
            queue: "{{{{ state.queue[1:] }}}}"
            stop: "{{{{ inputs.gate }}}}"
            half: 0.25
            phase: "{{{{ 'done' if inputs.gate else 'work' }}}}"
    - {READ}
    """


def test_a_jump_back_brings_what_was_written_on_the_way() -> None:
    steps = f"""
    - id: first
      type: delegate
      needs_state: [made]
      instructions: "{{{{ state.made.response | default('nothing yet') }}}}"
    - {MAKE}
    - {{id: again, type: goto, target: first, max_iterations: 2, else: read}}
    - {READ}
    """
    assert found(steps) == []


def test_after_a_parallel_step_what_each_branch_has_written_is_there() -> None:
    steps = f"""
    - id: both
      type: parallel
      branches:
        one: [{MAKE}]
        two: [{{id: pause, type: wait, duration_seconds: 1}}]
    - {READ}
    """
    assert found(steps) == []


def test_a_branch_can_not_rely_on_what_another_one_writes() -> None:
    steps = f"""
    - id: both
      type: parallel
      branches:
        one: [{MAKE}]
        two: [{{id: use, type: delegate, needs_state: [made], instructions: "{{{{ state.made.response }}}}"}}]
    """
    assert found(steps) == ["WF305 `made` may be unset: another branch of `both` writes it at the same time"]


def test_a_field_that_starts_as_null_may_still_be_null() -> None:
    steps = f'- {MAKE[:-1]}, when: "{{{{ inputs.gate }}}}"}}\n- {READ}'
    assert found(steps, "initial_state: {made: null}\n") == ["WF217 `state.made` may be null here"]
    assert found(f"- {MAKE}\n- {READ}", "initial_state: {made: null}\n") == []


def test_a_condition_on_the_way_shows_that_a_field_is_not_null() -> None:
    steps = f"""
    - {MAKE[:-1]}, when: "{{{{ inputs.gate }}}}"}}
    - id: check
      type: condition
      needs_state: [made]
      if: "{{{{ state.made is none }}}}"
      then: [{{id: stop, type: return, value: nothing}}]
    - {READ}
    """
    assert found(steps, "initial_state: {made: null}\n") == []


def test_steps_that_nobody_comes_to_are_not_told_what_came_before_them() -> None:
    assert found(f"- {{id: stop, type: return, value: 1}}\n- {READ}\n- {MAKE}") == []


def test_a_field_has_one_type_for_all_that_is_written_to_it() -> None:
    text = HEAD + textwrap.dedent("""
        initial_state: {tries: 0, names: [], page: null, started: false, mode: quick}
        steps:
          - {id: ask, type: prompt, prompt_type: choice, message: "Which?", options: [a, b], output_to: pick}
          - id: count
            type: set_state
            needs_state: [names, pick, tries]
            updates:
              tries: "{{ state.tries + 1 }}"
              names: "{{ state.names + [state.pick.selected] }}"
              started: true
              share: "{{ tries / 2 }}"
              when: "{{ now().isoformat() }}"
              stamp: "{{ now() }}"
              pair: {first: "{{ names | first }}", count: "{{ tries }}"}
          - {id: page, type: delegate, instructions: Page., output_to: page, on_error: continue}
          - {id: again, type: goto, target: count, max_iterations: 3}
    """)
    assert field_types(text) == {
        "tries": "int",
        "names": "list of 'a' or 'b'",
        "page": "null or DelegateResult",
        "started": "bool",
        "mode": "text",
        "pick": "ChoiceAnswer",
        "share": "number",
        "when": "text",
        "stamp": "text",
        "pair": "{first, count}",
    }


def test_types_that_grow_with_every_turn_come_to_rest() -> None:
    text = HEAD + textwrap.dedent("""
        initial_state: {nest: []}
        steps:
          - {id: wrap, type: set_state, needs_state: [nest], updates: {nest: "{{ [state.nest] }}"}}
          - {id: again, type: goto, target: wrap, max_iterations: 3}
    """)
    assert field_types(text) == {"nest": "any"}


def test_a_foreach_gives_the_list_of_what_its_task_returns() -> None:
    text = HEAD + textwrap.dedent("""
        steps:
          - {id: all, type: foreach, items: [a, b], task: one, output_to: found}
          - {id: some, type: foreach, items: [a, b], task: one, on_error: continue, output_to: tried}
          - {id: other, type: foreach, items: [a, b], task: two, output_to: ends}
          - {id: named, type: foreach, items: [a], task: one, agent: "@somebody", output_to: any}
        tasks:
          one:
            steps:
              - id: early
                type: condition
                if: "{{ index > 3 }}"
                then: [{id: none, type: return, value: {name: "{{ item }}", size: 0}}]
              - {id: size, type: return, value: {name: "{{ item }}", size: "{{ item | length }}"}}
          two:
            initial_state: {seen: 1}
            steps:
              - {id: look, type: delegate, instructions: "{{ item }}", output_to: look, on_error: continue}
    """)
    assert field_types(text) == {
        "found": "list of {name, size}",
        "tried": "list of {name, size} or FailedChild",
        "ends": "list of {seen, look}",
        "any": "list of any",
    }
    assert str(file_types(text).scopes[1].returns) == "{name, size}"


def test_a_call_gives_what_the_workflow_that_it_runs_returns() -> None:
    caller = """
        name: caller
        version: "1"
        steps:
          - {id: run, type: call, workflow: callee, output_to: result}
          - {id: end, type: return, needs_state: [result], value: "{{ state.result.totl }}"}
    """
    callee = """
        name: callee
        version: "1"
        steps:
          - {id: end, type: return, value: {total: 1}}
    """
    messages = [one.message for one in check(textwrap.dedent(caller), textwrap.dedent(callee))]
    assert messages == ["`state.result` has no property `totl`"]


def test_workflows_that_call_each_other_in_a_circle_are_still_typed() -> None:
    texts = [
        f"name: {one}\nversion: '1'\nsteps:\n  - {{id: go, type: call, workflow: {other}, output_to: x}}\n"
        for one, other in (("a", "b"), ("b", "a"))
    ]
    assert {found.code for found in check(*texts)} == {"WF108"}
