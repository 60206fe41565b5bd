"""Step ids as Python names: whatever a step is called, its module imports and runs."""

from __future__ import annotations

import keyword
import re

import pytest
from statemachine import State, StateChart

from tests.support import ROOT, file_of, workflow_of
from wfc.compiler import compile_file
from wfc.lower.names import CLASS_NAMES, RESERVED, Names, identifier
from wfc_runtime import contract, machine
from wfc_runtime.machine import Machine
from wfc_runtime.machine.events import Start, Submit
from wfc_runtime.machine.step import step

GOLDEN = ROOT / "tests" / "golden"
RESULT = {"stdout": "", "stderr": "", "exit_code": 0}
MODULE = """
name: names
version: "1"
steps:
  - {id: only, type: shell, command: ls}
"""


def public(*names: str) -> set[str]:
    return {name for name in names if not name.startswith("_")}


class Plain(StateChart):
    only = State("only", initial=True, final=True)


def test_every_attribute_of_a_machine_is_reserved() -> None:
    instance = Plain()
    found = public(*dir(Machine), *Machine.__annotations__, *dir(Plain), *vars(instance)) - {"only"}
    assert found - RESERVED == set()


def test_every_attribute_of_a_state_is_reserved() -> None:
    assert public(*dir(State), *vars(State("any"))) - RESERVED == set()


def test_every_event_and_ending_of_a_chart_is_reserved() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in GOLDEN.glob("*/module.py"))
    events = set(re.findall(r'event="(\w+)"', text))
    assert events >= {"submit", "due", "joined", "retry", "recover"}
    assert events - RESERVED == set()
    chart = workflow_of(compile_file(file_of(MODULE), "w.yaml").text).machine
    assert {state for state in chart.states_map if state != "only"} - RESERVED == set()
    assert public(*vars(chart)) - RESERVED - {"only", "done_state_running", "done.state.running"} == set()


def test_no_machine_takes_the_name_of_something_that_modules_import() -> None:
    capitals = {name for name in [*machine.__all__, *contract.__all__] if name[0].isupper()}
    assert capitals - {"Effect", "Json", "Number"} <= CLASS_NAMES


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("build", "build"),
        ("run-tests", "run_tests"),
        ("a.b:c", "a_b_c"),
        ("class", "class_"),
        ("match", "match_"),
        ("send", "send_"),
        ("State", "State_"),
        ("1st", "step_1st"),
        ("__init__", "step___init__"),
        ("error_x", "error_x"),
        ("done_state_x", "step_done_state_x"),
        ("", "step_"),
    ],
)
def test_an_id_becomes_an_identifier(name: str, made: str) -> None:
    assert identifier(name) == made


def test_parts_give_way_to_steps_that_have_their_name() -> None:
    file = file_of(
        """
        name: parts
        version: "1"
        steps:
          - {id: a, type: shell, command: ls, when: "{{ true }}"}
          - {id: a-when, type: shell, command: ls}
        """
    )
    names = Names(file.steps)
    assert [names.of(step) for step in file.steps] == ["a", "a_when"]
    assert names.part(file.steps[0], "when") == "a_when_2"
    assert names.part(file.steps[0], "when") == "a_when_2"


def test_steps_of_the_same_name_stay_apart() -> None:
    file = file_of("steps: [{id: a, type: shell}, {id: a, type: shell}, {type: shell}, {type: shell}]")
    names = Names(file.steps)
    assert [names.of(step) for step in file.steps] == ["a", "a_2", "step_", "step__2"]


AWKWARD = [
    *sorted(RESERVED),
    *keyword.kwlist,
    *keyword.softkwlist,
    *("error_x", "error_execution", "done_state_running", "done_state_x", "done_invoke_x"),
    *("on_submit", "before_submit", "after_submit", "on_enter_send_", "on_exit_running", "before_x"),
    *(
        "_x",
        "__x",
        "__init__",
        "__doc__",
        "__class__",
        "_engine",
        "1st",
        "9",
        "self",
        "type",
        "str",
        "Machine",
    ),
]


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a branch"])
def test_steps_of_any_name_can_be_run(inside: bool) -> None:
    steps = [f"{{id: '{name}', type: shell, command: ls, when: '{{{{ true }}}}'}}" for name in AWKWARD]
    block = "[" + ", ".join(steps) + "]"
    if inside:
        block = f"[{{id: both, type: parallel, branches: {{when: {block}}}}}]"
    file = file_of(f"name: awkward\nversion: '1'\nsteps: {block}\n")
    chart = workflow_of(compile_file(file, "w.yaml").text).machine
    snapshot = step(chart, None, Start(at=0, id="start")).snapshot
    visited = []
    while snapshot.status == "running":
        visited += snapshot.pending
        event = Submit(at=1, id=str(len(visited)), visit=visited[-1], result=RESULT)
        snapshot = step(chart, snapshot, event).snapshot
    assert snapshot.status == "completed"
    assert visited == AWKWARD
