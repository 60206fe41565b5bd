"""Whether runs under way bear a change; migrating a real run must come to the same."""

from __future__ import annotations

import pytest

from tests.support import load, loaded
from wfc.author.diff.compare import Reason
from wfc.author.diff.verdict import reasons

BASE = """\
name: w
version: "1.0.0"
steps:
  - {id: build, type: shell, command: make, output_to: built}
  - {id: ask, type: prompt, prompt_type: confirm, message: "Ship?", output_to: answer}
  - {id: ship, type: shell, needs_state: [answer], when: "{{ state.answer.confirmed }}", command: "make ship"}
  - {id: each, type: foreach, items: [a], task: t, retry: {max_attempts: 2, delay_seconds: 5}}
  - id: side
    type: parallel
    branches:
      one:
        - {id: left, type: shell, command: x}
      two:
        - {id: right, type: wait, duration_seconds: 5}
tasks:
  t:
    steps:
      - {id: look, type: shell, command: "ls {{ item | shquote }}"}
"""


def judged(old: str, new: str) -> list[Reason]:
    before, after = load(old).files[0], load(new).files[0]
    was, now = loaded(old), loaded(new)
    return reasons(before, after, next(iter(was.values())), next(iter(now.values())))


def change(*replaced: tuple[str, str], base: str = BASE) -> list[tuple[str, tuple[str, ...], bool]]:
    text = base
    for old, new in replaced:
        assert old in text, old
        text = text.replace(old, new)
    return [(one.code, one.steps, one.blocks) for one in judged(base, text)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("make ship", "make release"),
        ("  - {id: ship,", "  - {id: more, type: shell, command: x}\n  - {id: ship,"),
        ('version: "1.0.0"', 'version: "1.1.0"\ninputs: {region: {type: string, default: eu}}'),
        ("duration_seconds: 5}\n", "duration_seconds: 9}\n"),
    ],
    ids=["another command", "a step more", "an input that nothing reads", "another duration"],
)
def test_it_is_safe_with(old: str, new: str) -> None:
    assert change((old, new)) == []


def test_a_step_that_does_not_wait_may_go() -> None:
    base = BASE.replace("  - {id: ship,", "  - {id: note, type: set_state, updates: {x: 1}}\n  - {id: ship,")
    assert change(("  - {id: note, type: set_state, updates: {x: 1}}\n", ""), base=base) == []


def test_a_step_that_runs_wait_in_may_not_go() -> None:
    assert change(("  - {id: build, type: shell, command: make, output_to: built}\n", "")) == [
        ("step_gone", ("build",), True)
    ]


def test_a_step_that_runs_wait_in_may_not_be_renamed() -> None:
    assert change(("id: build", "id: compile")) == [("step_renamed", ("build",), True)]


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        (
            "{id: build, type: shell, command: make,",
            "{id: build, type: delegate, instructions: make,",
            "build",
        ),
        ("prompt_type: confirm", "prompt_type: text", "ask"),
        ("type: foreach, items: [a], task: t,", "type: shell, command: x,", "each"),
        ("{id: right, type: wait, duration_seconds: 5}", "{id: right, type: shell, command: x}", "right"),
    ],
)
def test_a_step_may_not_become_another_kind_of_action(old: str, new: str, step: str) -> None:
    found = change(
        (old, new), *([("{{ state.answer.confirmed }}", "{{ state.answer.input }}")] if step == "ask" else [])
    )
    assert ("step_changed", (step,), True) in found


def test_a_step_may_not_leave_its_branch() -> None:
    found = change(
        (
            "        - {id: left, type: shell, command: x}\n",
            "        - {id: other, type: shell, command: y}\n",
        ),
        ("tasks:\n", "  - {id: left, type: shell, command: x}\ntasks:\n"),
    )
    assert ("step_changed", ("left",), True) in found


def test_a_changed_result_schema_is_a_risk_and_its_words_are_none() -> None:
    schema = "result_schema: {type: object, properties: {n: {type: integer, description: A}}}"
    base = BASE.replace("type: shell, command: make,", f"type: mcp_call, tool: t.t, {schema},")
    assert change(("type: integer", "type: string"), base=base) == [("result_changed", ("build",), False)]
    assert change(("description: A", "description: B"), base=base) == []


def test_a_field_that_only_a_new_step_writes_is_missing_for_runs_past_it() -> None:
    found = judged(
        BASE,
        BASE.replace(
            "  - {id: ask,", "  - {id: note, type: shell, command: x, output_to: note}\n  - {id: ask,"
        )
        .replace("make ship", "make {{ state.note.exit_code }}")
        .replace("[answer]", "[answer, note]"),
    )
    [reason] = found
    assert (reason.code, reason.steps, reason.blocks) == ("field_missing", ("ask",), False)
    assert reason.message == "a run that waits in ask may have no note, which ship reads"


def test_a_field_of_another_type_that_later_steps_read_is_a_risk() -> None:
    base = (
        BASE.replace("  - {id: ask,", "  - {id: n, type: set_state, updates: {n: 1}}\n  - {id: ask,")
        .replace("[answer]", "[answer, n]")
        .replace("make ship", "make {{ state.n }}")
    )
    assert change(("updates: {n: 1}", "updates: {n: one}"), base=base) == [("field_type", ("ask",), False)]


def test_an_added_input_that_later_steps_read_is_missing_for_runs_under_way() -> None:
    found = change(
        ('version: "1.0.0"', 'version: "1.0.0"\ninputs: {region: {type: string, default: eu}}'),
        ("make ship", "make {{ inputs.region | shquote }}"),
    )
    assert found == [("input_missing", ("build", "ask"), False)]


def test_a_task_that_went_takes_its_runs_with_it() -> None:
    found = change(("task: t,", "task: u,"), ("  t:\n", "  u:\n"))
    assert found == [("task_gone", (), True)]


def test_steps_of_a_task_that_a_named_agent_works_as_a_whole_may_change() -> None:
    base = BASE.replace("task: t,", "task: t, agent: '@helper',")
    assert change(("id: look", "id: peek"), base=base) == []
    assert change(("id: look", "id: peek")) == [("step_renamed", ("look",), True)]


def test_a_workflow_of_another_name_has_no_version_for_old_runs() -> None:
    assert change(("name: w\n", "name: v\n")) == [("workflow_renamed", (), True)]
