"""Recorded runs of the shipped workflows, replayed on the pure machine through today's modules in `generated/`.

What a module does differently would do so to runs that have begun with it. `python -m tests.replay.record` records
anew; the diff of `recorded/` is then to be read like that of `generated/`.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.replay.record import record_all
from tests.replay.recording import FOLDER, place_of, read, replay, to_text
from tests.support import ROOT, is_sampled, workflow_of
from wfc_runtime.machine import Workflow
from wfc_runtime.registry import Registry

GENERATED = Registry(ROOT / "generated")
SHIPPED = [name for module in GENERATED.modules() if is_sampled(name := module.workflow.name)]


def find(name: str) -> Workflow:
    return GENERATED.find(name).workflow


@cache
def text_of(name: str) -> str:
    return GENERATED.find(name).text


def test_every_sampled_workflow_has_recorded_runs_and_nothing_else_has() -> None:
    assert set(FOLDER.glob("*.json")) == set(map(place_of, SHIPPED)), AGAIN


AGAIN = "if the change is wanted: `python -m tests.replay.record WORKFLOW`, and look at the diff"


@pytest.mark.parametrize("name", SHIPPED)
def test_recorded_runs_come_to_the_recorded_states_byte_for_byte(name: str) -> None:
    differences = list(replay(read(name), find))
    assert not differences, "\n".join([*differences, AGAIN.replace("WORKFLOW", name)])


@pytest.mark.parametrize("name", SHIPPED)
def test_recorded_runs_have_ended_and_some_of_every_workflow_have_completed(name: str) -> None:
    ends = [one.events[-1][1]["status"] for one in read(name) if one.workflow == name and one.task is None]
    assert "completed" in ends
    assert "running" not in ends


def test_the_same_answers_recorded_again_give_the_same_bytes() -> None:
    name = "fix-standards"
    recorded = [one for one in read(name) if not one.way.startswith("way-")]
    assert recorded
    assert to_text(record_all(name, [])) == to_text(recorded)


CHANGES = {
    "an edge that leads elsewhere": ('to(read_total, event="submit")', 'to(check_target, event="submit")'),
    "an edge that is gone": ('        write_again.to(return_disputed, event="recover")\n', ""),
    "a guard that says the opposite": ("{{ not state.judgement", "{{ state.judgement"),
    "a guard that says a little more": ("state.coverage >= inputs.target", "state.coverage > inputs.target"),
    "a guard that may read less": ('"{{ state.coverage >= inputs.target }}", "coverage"', '"{{ true }}"'),
    "fewer turns": ("cond=at_most(6)", "cond=at_most(5)"),
    "another command": ("sh -c -- {{", "sh -c {{"),
    "another kind of effect": ('"read_total": Assign(', '"read_total": Return(value=1) or Assign('),
    "another field": ('writes="judgement"', 'writes="written"'),
    "another timeout": ("timeout=1800", "timeout=1801"),
    "fields that are not declared": ('reads=("measurement",)', "reads=()"),
    "another initial value": ('initial = {"objections": []}', 'initial = {"objections": ["none"]}'),
    "a renamed step": ('State("write-tests")', 'State("write-test")'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_module_fails_the_replay(change: str) -> None:
    name, (old, new) = "raise-coverage", CHANGES[change]
    text = text_of(name)
    assert text.count(old) >= 1
    changed = workflow_of(text.replace(old, new))
    assert list(replay(read(name), lambda _: changed))


def test_a_renamed_state_and_a_task_that_is_gone_fail_the_replay() -> None:
    renamed = workflow_of(text_of("raise-coverage").replace("judge_tests", "assess_tests"))
    [first, *_] = replay(read("raise-coverage"), lambda _: renamed)
    assert "states ['running', 'assess_tests'], recorded ['running', 'judge_tests']" in first

    name = next(name for name in SHIPPED if find(name).tasks)
    whole = find(name)
    without = Workflow(**{**vars(whole), "tasks": {}})
    assert any(
        "there is no task" in one
        for one in replay(read(name), lambda wanted: without if wanted == name else find(wanted))
    )


def test_a_difference_says_where_what_and_how_to_record_anew() -> None:
    name = "raise-coverage"
    changed = workflow_of(
        text_of(name).replace('to(read_total, event="submit")', 'to(check_target, event="submit")')
    )
    [first, *_] = replay(read(name), lambda _: changed)
    assert first.startswith("way-1, run way-1-1 of raise-coverage, event 2 (Submit measure-coverage): ")
    assert ", recorded " in first
