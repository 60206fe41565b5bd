"""Machines whose expressions are JavaScript, and the checks of their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("quickjs")

from tests.runtime.support import Box, steps
from tests.support import check, codes, loaded
from wfc_runtime.machine.simulation import Simulation

GOLDEN = Path(__file__).parent.parent / "golden/javascript/workflow.yaml"
HEAD = "expressions: javascript\n"


def simulated(text: str, inputs: dict[str, Any] | None = None) -> Simulation:
    (found,) = loaded(text).values()
    return found.machine.simulate(inputs or {})


def test_conditions_updates_parameters_and_derived_fields_are_javascript() -> None:
    run = simulated(
        GOLDEN.read_text(encoding="utf-8"), {"files": ["a.ts", "b c.ts", "x.py", "node_modules/y.ts"]}
    )
    assert run.state["kinds"] == {"ts": 2, "py": 1}
    assert run.pending["list"].parameters["command"] == "ls a.ts 'b c.ts' x.py"


def test_an_empty_list_is_true_and_a_failure_names_its_place() -> None:
    flow = steps(
        "{id: a, type: set_state, when: '{{ [] }}', updates: {list: '{{ [2, 10, 1].sort() }}'}}",
        "{id: b, type: set_state, updates: {bad: 'x {{ inputs.any[0].none.more }}'}}",
        head=HEAD + "inputs: {any: {type: array, required: true}}\n",
    )
    run = simulated(flow, {"any": [{}]})
    assert run.state["list"] == [1, 10, 2]
    assert run.status == "failed"
    assert run.error is not None
    assert run.error["message"] == (
        "cannot read property 'more' of undefined (in `inputs.any[0].none.more`, at character 5)"
    )


def test_time_and_ids_come_from_the_event_on_every_engine(box: Box) -> None:
    flow = steps(
        "{id: ask, type: prompt, prompt_type: text, message: 'Name?', output_to: answer}",
        "{id: mark, type: set_state, needs_state: [answer],"
        " updates: {mark: '{{ [uuid(), Date.now(), state.answer.input.toUpperCase()] }}'}}",
        "{id: show, type: prompt, needs_state: [mark], prompt_type: info, message: '{{ state.mark[0] }}'}",
        "{id: end, type: return, needs_state: [mark], value: '{{ state.mark }}'}",
        head=HEAD,
    )
    service = box.compile(flow).service
    run = service.start("w", {})["workflow_id"]
    shown = service.submit(run, "ask", {"input": "ada"})
    service = box.restart()
    result = service.submit(run, "show", {"acknowledged": True})["result"]
    assert result[2] == "ADA"
    assert result[0] in str(shown)
    assert result[1] == int(box.clock() * 1000)


def test_a_correct_file_has_no_findings() -> None:
    assert codes(GOLDEN.read_text(encoding="utf-8")) == []


def test_a_file_that_needs_the_missing_extra_has_one_finding_that_names_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wfc.javascript.is_installed", lambda: False)
    monkeypatch.setattr("wfc.javascript.template.is_installed", lambda: False)
    found = check(GOLDEN.read_text(encoding="utf-8").replace("seen: []", "seen: []\n  unused: 1"))
    assert [(one.code, one.help) for one in found] == [
        ("WF201", "run `pip install 'wfc-compiler[reactive]'`")
    ]


def test_names_that_an_expression_binds_itself_are_not_reads() -> None:
    flow = steps(
        """{id: a, type: set_state, updates: {x: "{{ inputs.list.map(({ id, tags: [first] }, at) => {"""
        """ const key = id + at; """
        """try { return key + first } catch (error) { return error.message } }) }}"}}""",
        "{id: end, type: return, needs_state: [x], value: '{{ state.x }}'}",
        head=HEAD + "inputs: {list: {type: array, required: true}}\n",
    )
    assert codes(flow) == []
