"""Derived fields: up to date before the next step, computed once per change, and durable."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.support import Box, modules_of, steps
from wfc_runtime.machine.derive import Derive
from wfc_runtime.machine.simulation import Simulation


def simulated(text: str, inputs: dict[str, Any] | None = None) -> Simulation:
    (source,) = [body for name, body in modules_of(text).items() if name.endswith(".py")]
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "generated.py", "exec"), namespace)
    found: Simulation = namespace["WORKFLOW"].machine.simulate(inputs or {})
    return found


HEAD = """\
inputs: {service: {type: string, required: true}}
start_values: {report: "{{ inputs.service }}.md"}
initial_state: {results: [], limit: 1}
derived:
  is_bad: {value: "{{ state.failures > state.limit }}"}
  failures: {from: "{{ state.results }}", value: "{{ input | reject | list | length }}"}
"""
LOOP = steps(
    "{id: ask, type: prompt, prompt_type: confirm, message: Good?, output_to: last}",
    "{id: keep, type: set_state, needs_state: [results, last],"
    " updates: {results: '{{ state.results + [state.last.confirmed] }}'}}",
    "{id: again, type: goto, needs_state: [is_bad], when: '{{ not state.is_bad }}', target: ask, max_iterations: 9}",
    "{id: done, type: return, needs_state: [failures, report],"
    " value: '{{ state.failures }} in {{ state.report }}'}",
    head=HEAD,
)


def test_a_condition_sees_what_the_write_before_it_changed(box: Box) -> None:
    service = box.compile(LOOP).service
    reply = service.start("w", {"service": "api"})
    run = reply["workflow_id"]
    for visit, confirmed in (("ask", True), ("ask@2", False), ("ask@3", True)):
        reply = service.submit(run, visit, {"confirmed": confirmed})
    assert service.state(run, ["failures", "is_bad"])["state"] == {"failures": 1, "is_bad": False}
    service = box.restart()
    assert service.submit(run, "ask@4", {"confirmed": False})["result"] == "2 in api.md"
    # A value that stays the same is not written again.
    written = [event.get("written", {}) for event in service.history(run)["events"]]
    assert [one.get("failures") for one in written] == [0, None, 1, None, 2]
    assert [one.get("is_bad") for one in written] == [False, None, None, None, True]


def chain(length: int) -> str:
    fields = ["  f0: {value: '{{ state.n + 1 }}'}"]
    fields += [f"  f{one}: {{value: '{{{{ state.f{one - 1} + 1 }}}}'}}" for one in range(1, length)]
    # Backwards: the order of the file does not matter.
    head = "initial_state: {n: 0, other: 0}\nderived:\n" + "\n".join(reversed(fields))
    return steps(
        "{id: ask, type: mcp_call, tool: t.t, result_schema: {type: integer}, output_to: n}",
        "{id: again, type: mcp_call, tool: t.t, result_schema: {type: integer}, output_to: other}",
        head=head,
    )


def test_each_derived_field_is_computed_once_per_change_and_not_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed: list[str] = []
    compute = Derive.compute

    def counted(self: Derive, run: Any, name: str) -> Any:
        computed.append(name)
        return compute(self, run, name)

    monkeypatch.setattr(Derive, "compute", counted)
    run = simulated(chain(200))
    names = [f"f{one}" for one in range(200)]
    assert computed == names
    computed.clear()
    run.submit("ask", 7)
    assert computed == names
    assert run.state["f199"] == 207
    computed.clear()
    run.submit("again", 5)
    assert not computed
    again = simulated(chain(200))
    computed.clear()
    again.submit("ask", 0)
    assert not computed, "the value is the one that was there"


FAILING = steps(
    "{id: ask, type: mcp_call, tool: t.t, output_to: n}",
    "{id: more, type: mcp_call, tool: t.t, output_to: n, on_error: continue}",
    "{id: last, type: mcp_call, tool: t.t}",
    head="""\
initial_state: {n: 1}
derived:
  plain: {value: "{{ 10 // state.n }}"}
  given: {value: "{{ 10 // state.n }}", fallback: -1}
  kept: {value: "{{ 10 // state.n }}", on_error: ignore}
  tested: {value: "{{ state.n }}", check: "{{ output is number and output < 5 }}", fallback: none}
  counted: {from: ["{{ state.given }}", "{{ state.kept }}"], value: "{{ input | sum }}"}
""",
)


def test_a_failed_computation_gives_the_fallback_or_keeps_the_value(box: Box) -> None:
    service = box.compile(FAILING).service
    run = service.start("w", {})["workflow_id"]
    names = ["plain", "given", "kept", "tested", "counted"]
    assert service.state(run, names)["state"] == {
        "plain": 10,
        "given": 10,
        "kept": 10,
        "tested": 1,
        "counted": 20,
    }
    service.submit(run, "ask", 0)
    state = service.state(run, names)["state"]
    assert state == {"plain": None, "given": -1, "kept": 10, "tested": 0, "counted": 9}
    notes = service.history(run)["events"][-1]["notes"]
    assert [(note["derived"], note["on_error"], note["trigger"]) for note in notes] == [
        ("plain", "use_fallback", "n"),
        ("given", "use_fallback", "n"),
        ("kept", "ignore", "n"),
    ]
    service.submit(run, "more", 7)
    assert service.state(run, ["tested"])["state"] == {"tested": "none"}


def test_a_failure_that_propagates_fails_the_step_that_wrote_and_writes_nothing(box: Box) -> None:
    text = FAILING.replace(
        'plain: {value: "{{ 10 // state.n }}"}', 'plain: {value: "{{ 10 // state.n }}", on_error: propagate}'
    )
    service = box.compile(text).service
    run = service.start("w", {})["workflow_id"]
    service.submit(run, "ask", 5)
    # The step handles the failure, and the field has the value from before.
    assert service.submit(run, "more", 0)["action"]["step_id"] == "last"
    assert service.state(run, ["n", "plain", "given"])["state"] == {"n": 5, "plain": 2, "given": 2}
    failing = service.start("w", {})["workflow_id"]
    reply = service.submit(failing, "ask", 0)
    assert reply["status"] == "failed"
    assert reply["error"]["message"].startswith("`plain` can't be computed: ")
    assert reply["error"]["field"] == "plain"


def test_a_failure_at_the_start_fails_the_run_whatever_its_first_step_handles(box: Box) -> None:
    text = steps(
        "{id: ask, type: mcp_call, tool: t.t, on_error: continue}",
        head='initial_state: {n: 0}\nderived: {share: {value: "{{ 1 / state.n }}", on_error: propagate}}',
    )
    service = box.compile(text).service
    reply = service.start("w", {})
    assert (reply["status"], reply["error"]["code"]) == ("failed", "expression")


def test_derived_values_have_limits_of_their_own() -> None:
    text = steps(
        "{id: ask, type: mcp_call, tool: t.t, output_to: n}",
        "{id: last, type: mcp_call, tool: t.t}",
        head="initial_state: {n: 1}\nderived:\n"
        "  large: {value: \"{{ 'x' * (state.n | int) }}\", fallback: small}\n"
        '  copy: {value: "{{ state.large }}"}\n'
        '  true_or_one: {value: "{{ 1 if state.n == 1 else (true if state.n == 2 else 1.0) }}"}',
    )
    run = simulated(text)
    assert run.state["large"] == "x"
    run.submit("ask", 2)
    # 1 and true are equal in Python, and different values in JSON.
    assert run.state["true_or_one"] is True
    big = simulated(text)
    big.submit("ask", 1_100_000)
    assert (big.state["large"], big.state["copy"]) == ("small", "small")
    assert big.snapshot.derived_size < 100


def test_a_secret_stays_secret_in_what_is_derived_from_it(box: Box) -> None:
    text = steps(
        "{id: ask, type: mcp_call, tool: t.t}",
        head="inputs: {token: {type: string, secret: true, required: true}}\n"
        'derived: {header: {value: "Bearer {{ inputs.token }}"}}',
    )
    service = box.compile(text).service
    run = service.start("w", {"token": "hunter2hunter2"})["workflow_id"]
    assert service.state(run, ["header"])["state"] == {"header": "***"}
    assert "hunter2" not in str(service.history(run))
