"""Generated machines without a server: simulated, walked with the library's own calls, and drawn by it."""

from __future__ import annotations

import re

import pytest
from statemachine.contrib.diagram.extract import extract

from tests.support import ROOT, is_sampled
from wfc_runtime.errors import RefusedError, RequestError
from wfc_runtime.machine.chart import Walk
from wfc_runtime.registry import Module, Registry

INPUTS = {"service_name": "api", "version": "1.2.3", "registry": "r.example/x", "health_url": "https://h"}
DONE = {"stdout": "", "stderr": "", "exit_code": 0}
REGISTRY = Registry(ROOT / "generated")
DEPLOY = REGISTRY.find("deploy-service").workflow.machine
EVERY = [
    pytest.param(module, id=module.workflow.name)
    for module in REGISTRY.modules()
    if is_sampled(module.workflow.name)
]


def test_a_simulated_run_is_answered_step_by_step() -> None:
    run = DEPLOY.simulate(INPUTS)
    assert list(run.pending) == ["build-image"]
    assert run.pending["build-image"].parameters["timeout"] == 1200
    run.submit("build-image", DONE)
    run.submit("test-image", {**DONE, "exit_code": 1, "stdout": "2 failed"})
    assert (run.status, run.result["stage"], run.result["detail"]) == ("completed", "test", "2 failed")
    assert run.path[-1] == "return_tests_failed"


def test_a_simulated_run_takes_typed_inputs() -> None:
    inputs = DEPLOY.inputs(**INPUTS)
    assert DEPLOY.simulate(inputs).snapshot.inputs["environment"] == "staging"


def test_a_simulated_run_refuses_what_a_server_would_refuse() -> None:
    with pytest.raises(RequestError, match="service_name"):
        DEPLOY.simulate({**INPUTS, "service_name": "A b"})
    run = DEPLOY.simulate(INPUTS)
    with pytest.raises(RefusedError, match="does not fit"):
        run.submit("build-image", {"exit_code": "1"})
    with pytest.raises(RefusedError, match=r"not pending|has not been reached|is not"):
        run.submit("push-image", DONE)
    assert list(run.pending) == ["build-image"]


def test_time_passes_in_a_simulated_run_when_it_is_told_to() -> None:
    run = DEPLOY.simulate({**INPUTS, "build_image": False})
    run.submit("read-running-image", {**DONE, "stdout": "old"})
    run.submit("roll-out", DONE)
    assert "let-settle" in run.pending
    run.pass_time(9)
    assert "let-settle" in run.pending
    run.pass_time(1)
    assert list(run.pending) == ["probe-health"]


def test_a_simulated_run_waits_for_the_children_it_is_told_about() -> None:
    machine = REGISTRY.find("python-ci").workflow.machine
    run = machine.simulate({})
    while run.status == "running" and not run.children:
        visit, action = next(iter(run.pending.items()))
        answer = {"content": "", "rendered": ""} if action.type == "render_template" else DONE
        run.submit(visit, answer)
    [child] = run.children
    assert child.workflow == "python-tests"
    run.end_child(child, error={"code": "x", "message": "no tests"})
    assert not run.children


def test_a_simulated_run_can_be_cancelled() -> None:
    run = DEPLOY.simulate(INPUTS)
    run.cancel("enough")
    assert (run.status, run.error["message"]) == ("cancelled", "enough")


@pytest.mark.parametrize("module", EVERY)
def test_every_machine_is_made_and_moved_with_the_library_alone(module: Module) -> None:
    for machine in (module.workflow.machine, *module.workflow.tasks.values()):
        chart = machine()
        moves = 0
        while not chart.is_terminated and moves < 500:
            events = [event.id for event in chart.allowed_events if event.id not in ("fail", "cancel")]
            if not events:
                break
            chart.send(events[0])
            moves += 1
        assert chart.model.path
        assert "completed" in map(str, chart.configuration_values)


def test_whoever_walks_a_chart_decides_its_conditions() -> None:
    asked: list[str] = []

    def decide(text: str) -> bool:
        asked.append(text)
        return "build_image" in text

    chart = DEPLOY(Walk(decide))
    assert "build_image" in chart.configuration_values
    assert asked[0] == "{{ inputs.build_image }}"
    chart.send("submit")
    assert "test_image" in chart.configuration_values


def test_a_loop_that_is_always_entered_again_ends_at_its_bound() -> None:
    machine = REGISTRY.find("fix-standards").workflow.machine
    chart = machine(Walk(lambda text: True))
    for _ in range(200):
        if chart.is_terminated:
            break
        chart.send(next(one.id for one in chart.allowed_events if one.id not in ("fail", "cancel")))
    assert chart.is_terminated


@pytest.mark.parametrize("module", EVERY)
def test_the_librarys_own_diagram_shows_conditions_as_they_are_written(module: Module) -> None:
    machine = module.workflow.machine
    shown = {guard for edge in extract(machine).transitions for guard in edge.guards}
    named = {guard for guard in shown if guard in ("otherwise", "addressed", "no failure", "next item")}
    counted = {guard for guard in shown if guard.startswith(("at most ", "ended: "))}
    bare = {re.sub(r" \((at most|up to) \d+ times\)$", "", guard) for guard in shown - named - counted}
    assert bare <= {text.strip("{} ") for text in re.findall(r"\{\{.*?\}\}", module.text.replace('\\"', '"'))}
    assert shown


def test_a_condition_is_called_by_its_text() -> None:
    edges = DEPLOY.states_map["check_build"].transitions
    assert [str(one) for edge in edges for one in edge.cond] == ["state.build.exit_code != 0", "otherwise"]
    [enters, _] = DEPLOY.states_map["watch_health_turn"].transitions
    [shown] = [str(one) for one in enters.cond]
    assert shown == "not state.healthy and state.checks_done < inputs.health_checks (at most 30 times)"
