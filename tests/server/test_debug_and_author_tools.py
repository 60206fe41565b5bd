"""Looking into runs, and workflows that are only text so far."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.server.driver import SHELL_OK, Agent, ToolRefusedError
from wfc.project import SourceFile
from wfc_runtime.server.tools import Call
from wfc_runtime.server.toolsets.author import validate_workflow_yaml

INLINE_SCHEMA = """
name: choosy
version: 1.0.0
steps:
  - {id: a, type: mcp_call, tool: t, output_to: o, result_schema: {enum: [VALUES]}}
"""
SAID_BY_TEXT = """
name: NAME
version: 1.0.0
inputs: {who: {type: string, required: true}}
steps:
  - {id: a, type: shell, command: "echo {{ inputs.who | shquote }}", output_to: o}
  - {id: b, type: return, needs_state: [o], value: "{{ state.o.exit_code }}"}
"""

ADD = """\
name: add-up
version: "1.0.0"
inputs:
  start: {type: number, required: true}
steps:
  - id: ask
    type: mcp_call
    tool: numbers.next
    result_schema: {type: object, required: [value], properties: {value: {type: number}}}
    output_to: given
  - id: done
    type: return
    needs_state: [given]
    value: "{{ inputs.start + state.given.value }}"
"""
COMPUTED = """\
name: price-up
version: "1.0.0"
inputs:
  rate: {type: number, default: 2}
initial_state: {total: 0}
steps:
  - id: ask
    type: mcp_call
    tool: numbers.next
    result_schema: {type: object, required: [value], properties: {value: {type: number}}}
    output_to: given
  - id: add
    type: set_state
    needs_state: [given, total]
    updates:
      net: "{{ state.given.value + state.total }}"
      total: "{{ net * inputs.rate }}"
  - id: label
    type: set_state
    needs_state: [total]
    updates:
      label: "{{ state.total }} in all"
  - id: approve
    type: prompt
    prompt_type: confirm
    needs_state: [label]
    message: "{{ state.label }}?"
"""
CALLING = """\
name: call-greet
version: "1.0.0"
steps:
  - id: greet
    type: call
    workflow: greet
    with: {name: root}
"""


def started(agent: Agent) -> str:
    run = str(agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"])
    agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    return run


def test_the_state_is_shown_field_by_field_and_never_more_than_was_asked_for(agent: Agent) -> None:
    run = started(agent)
    reply = agent.call("get_workflow_state", workflow_id=run)
    assert list(reply["fields"]) == ["entry"]
    assert "state" not in reply
    reply = agent.call("get_workflow_state", workflow_id=run, fields=["entry"])
    assert reply["state"] == {"entry": SHELL_OK}
    assert "Did you mean `entry`?" in agent.refusal("get_workflow_state", workflow_id=run, fields=["enty"])


def test_the_plan_of_a_workflow_is_explained_before_a_run_is_started(agent: Agent) -> None:
    plan = agent.call("explain_plan", workflow="greet")
    assert plan["actions"]["least"] >= 1
    assert plan["steps"][0]["id"] == "look-up"
    assert [one["step"] for one in plan["needs"]["commands"]] == ["look-up"]
    assert plan["next"] == 'start_workflow(workflow="greet", inputs={...})'
    assert "Did you mean `greet`?" in agent.refusal("explain_plan", workflow="gret")


def test_the_history_tells_what_happened_when_and_who_answered(agent: Agent) -> None:
    meta = {"claudecode/toolUseId": "toolu_0123"}
    reply = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})
    run = reply["workflow_id"]
    agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK, meta=meta)
    events = agent.call("get_workflow_history", workflow_id=run)["events"]
    assert [event["event"] for event in events] == ["started", "submitted"]
    assert events[0]["inputs"] == {"name": "root", "times": 1}
    # Without a word from the client: its name, and which process it talked to.
    assert events[0]["actor"].startswith("mcp:")
    assert events[1]["actor"] == "toolu_0123"
    assert events[1]["step_id"] == "look-up"
    assert events[1]["written"] == {"entry": SHELL_OK}
    assert (events[1]["left"], events[1]["entered"]) == (["look_up"], ["say_hello"])
    assert events[1]["at"].endswith("Z")


def test_a_long_history_comes_in_pages(agent: Agent) -> None:
    run = started(agent)
    first = agent.call("get_workflow_history", workflow_id=run, limit=1)
    assert [event["seq"] for event in first["events"]] == [1]
    assert first["next"] == f'get_workflow_history(workflow_id="{run}", after=1)'
    rest = agent.call("get_workflow_history", workflow_id=run, after=1)
    assert [event["seq"] for event in rest["events"]] == [2]


def test_checking_a_workflow_gives_its_findings_with_their_places(agent: Agent) -> None:
    assert agent.call("validate_workflow_yaml", yaml=ADD)["valid"] is True
    wrong = ADD.replace("state.given.value", "state.gven.value")
    reply = agent.call("validate_workflow_yaml", yaml=wrong)
    assert reply["valid"] is False
    [finding] = [one for one in reply["findings"] if one["severity"] == "error"]
    assert ADD.splitlines()[finding["line"] - 1].startswith("    value:")
    assert "gven" in finding["message"]


def test_yaml_that_is_none_is_a_finding_and_no_failure(agent: Agent) -> None:
    reply = agent.call("validate_workflow_yaml", yaml="steps: [")
    assert reply["valid"] is False
    assert reply["findings"][0]["code"] == "WF001"


def test_an_inline_workflow_runs_to_its_end_like_any_other(agent: Agent) -> None:
    reply = agent.call("execute_inline_workflow", yaml=ADD, inputs={"start": 2})
    run = reply["workflow_id"]
    assert agent.call("get_workflow_status", workflow_id=run)["workflow"] == "add-up"
    reply = agent.call("submit_result", workflow_id=run, step_id="ask", result={"value": 3})
    assert reply["result"] == 5


def test_an_inline_workflow_with_errors_is_not_started(agent: Agent) -> None:
    told = agent.refusal(
        "execute_inline_workflow", yaml=ADD.replace("needs_state: [given]", ""), inputs={"start": 2}
    )
    assert "WF301" in told
    assert "Next: validate_workflow_yaml" in told
    assert "`start` is required" in agent.refusal("execute_inline_workflow", yaml=ADD)


def test_large_values_come_as_resources_to_read(agent: Agent) -> None:
    run = str(agent.call("start_workflow", workflow="keep")["workflow_id"])
    text = "word " * 20_000
    reply = agent.call("submit_result", workflow_id=run, step_id="fetch", result={"response": text})
    shown = reply["action"]["parameters"]["instructions"]
    assert shown["resource"] == f"wfc://runs/{run}/actions/show"
    assert shown["begins"].startswith("Read this: word word")
    assert json.loads(agent.read(shown["resource"]))["parameters"]["instructions"] == f"Read this: {text}"
    field = agent.call("get_workflow_state", workflow_id=run, fields=["text"])["state"]["text"]
    assert json.loads(agent.read(field["resource"])) == {"response": text}
    ended = agent.call("submit_result", workflow_id=run, step_id="show", result={"response": "done"})
    assert ended["status"] == "completed"
    assert json.loads(agent.read(ended["result"]["resource"]))["text"] == {"response": text}
    history = agent.call("get_workflow_history", workflow_id=run)
    assert len(str(history)) < 50_000
    shown = history["events"][1]["result"]
    assert shown["resource"] == f"wfc://runs/{run}/history"
    assert json.loads(agent.read(shown["resource"]))["events"][1]["result"] == {"response": text}


def priced(agent: Agent) -> str:
    run = str(agent.call("execute_inline_workflow", yaml=COMPUTED)["workflow_id"])
    meta = {"claudecode/toolUseId": "toolu_0123"}
    agent.call("submit_result", workflow_id=run, step_id="ask", result={"value": 3}, meta=meta)
    return run


def test_a_large_result_schema_comes_as_a_resource_too(agent: Agent) -> None:
    values = ", ".join(f"'value {number}'" for number in range(5000))
    yaml = INLINE_SCHEMA.replace("VALUES", values)
    action = agent.call("execute_inline_workflow", yaml=yaml)["action"]
    assert len(json.dumps(action)) < 5000
    whole = json.loads(agent.read(action["result_schema"]["resource"]))["result_schema"]
    assert len(whole["enum"]) == 5000


def test_thousands_of_findings_are_told_as_the_first_twenty(agent: Agent) -> None:
    yaml = "name: x\nversion: 1.0.0\n" + "name: x\n" * 5000
    found = agent.call("validate_workflow_yaml", yaml=yaml)
    assert (len(found["findings"]), found["errors"]) == (20, 5001)
    said = agent.refusal("execute_inline_workflow", yaml=yaml)
    assert said.count("WF002") == 19


def test_what_the_author_tools_compiled_is_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call = cast(Call, None)  # Only workflows that are called would be looked for there.
    for number in range(3):
        yaml = SAID_BY_TEXT.replace("NAME", f"n{number}")
        assert validate_workflow_yaml(call, yaml)["valid"]
    gc.collect()
    assert [
        one.name for one in gc.get_objects() if isinstance(one, SourceFile) and one.name in ("n0", "n1")
    ] == []


def test_state_dependencies_tell_what_a_field_is_made_from_and_what_is_made_from_it(agent: Agent) -> None:
    run = priced(agent)
    reply = agent.call("state_dependencies", workflow_id=run, field="total")
    assert reply["written_by"] == ["add"]
    # `net` is a bare name there: an earlier key of the same step.
    assert reply["direct_deps"] == ["inputs.rate", "state.given", "state.total"]
    assert reply["dependents"] == ["label", "net", "total"]
    reply = agent.call("state_dependencies", workflow_id=run, field="label")
    assert reply["direct_deps"] == ["state.total"]
    assert reply["all_deps"] == ["inputs.rate", "state.given", "state.total"]
    refused = agent.refusal("state_dependencies", workflow_id=run, field="totl")
    assert "Did you mean `total`?" in refused


def test_traces_tell_when_a_field_was_written_by_which_step_and_what_set_it_off(agent: Agent) -> None:
    run = priced(agent)
    [trace] = agent.call("trace_transformations", workflow_id=run, field="total")["traces"]
    assert (trace["step"], trace["output"], trace["seq"]) == ("add", 6, 2)
    assert trace["trigger"] == "submitted ask by toolu_0123"
    everything = agent.call("trace_transformations", workflow_id=run)["traces"]
    assert {one["field"]: one["step"] for one in everything} == {
        "given": "ask",
        "net": "add",
        "total": "add",
        "label": "label",
    }
    page = agent.call("trace_transformations", workflow_id=run, limit=1)
    assert page["next"] == f'trace_transformations(workflow_id="{run}", after=1)'


DERIVED = """\
name: tallied
version: "1.0.0"
inputs: {limit: {type: integer, default: 1}}
initial_state: {results: []}
internal: [last]
derived:
  count: {value: "{{ state.results | length }}"}
  is_over: {value: "{{ state.count > inputs.limit }}"}
  first: {value: "{{ state.results[0].name }}"}
steps:
  - {id: ask, type: mcp_call, tool: t.t, output_to: last}
  - id: keep
    type: change
    needs_state: [last]
    changes: [{path: results, operation: append, value: "{{ state.last }}"}]
  - {id: more, type: mcp_call, when: "{{ inputs.limit > 5 }}", tool: t.t}
  - {id: end, type: mcp_call, tool: t.t}
"""


def test_derived_fields_are_shown_with_what_they_depend_on_and_why_they_failed(agent: Agent) -> None:
    run = agent.call("execute_inline_workflow", yaml=DERIVED)["workflow_id"]
    agent.call("submit_result", workflow_id=run, step_id="ask", result={"id": 7})
    listed = agent.call("get_workflow_state", workflow_id=run)
    assert listed["derived"] == ["count", "is_over", "first"]
    assert "last" not in listed["fields"]
    reply = agent.call("state_dependencies", workflow_id=run, field="is_over")
    assert (reply["derived"], reply["direct_deps"]) == (True, ["inputs.limit", "state.count"])
    assert reply["all_deps"] == ["inputs.limit", "state.count", "state.last", "state.results"]
    assert agent.call("state_dependencies", workflow_id=run, field="results")["dependents"] == [
        "count",
        "first",
    ]
    traces = agent.call("trace_transformations", workflow_id=run, field="count")["traces"]
    assert [(one["derived"], one["output"]) for one in traces] == [(True, 0), (True, 1)]
    assert traces[1]["input"] == {"results": [{"id": 7}]}
    failed = [
        one
        for one in agent.call("trace_transformations", workflow_id=run, field="first")["traces"]
        if "error" in one
    ]
    assert [one["trigger"] for one in failed[1:]] == ["results"]
    info = agent.call("debug_info", workflow_id=run)
    assert [one["step_id"] for one in info["current"]] == ["end"]
    assert [one["step"] for one in info["steps"]][-3:] == ["keep", "more", "end"]
    assert info["sizes"]["derived"] > 0
    assert {one["field"] for one in info["slowest"]} == {"count", "is_over", "first"}


def test_a_plan_with_inputs_decides_the_branches_that_read_nothing_else(agent: Agent) -> None:
    plain = agent.call("explain_plan", workflow="greet")
    assert not any("decided" in branch for branch in plain["branches"])
    with_inputs = agent.call("explain_plan", workflow="greet", inputs={"name": "root"})
    assert [branch["step"] for branch in with_inputs["branches"]] == [
        one["step"] for one in plain["branches"]
    ]


def test_an_expression_can_be_tried_on_values_of_ones_own(agent: Agent) -> None:
    context = {"state": {"names": ["b", "a"]}}
    transform = "{{ state.names | sort | first }}{{ input }}"
    reply = agent.call("test_transformation", transform=transform, input=7, context=context)
    assert (reply["success"], reply["output"]) == (True, "a7")
    reply = agent.call("test_transformation", transform="{{ state.nmes }}", context=context)
    assert reply["success"] is False
    assert "nmes" in reply["error"]
    assert agent.call("test_transformation", transform="{{ 'a' * 10 ** 9 }}")["success"] is False
    reply = agent.call("test_transformation", transform="{{ ['a'] * 50000 }}")
    assert (reply["output"]["characters"], reply["output"]["begins"][:8]) == (200_001, '["a","a"')


def test_a_transformation_is_tried_in_either_language(agent: Agent) -> None:
    pytest.importorskip("quickjs")
    lines = "a.ts\nb.py\n"

    def tried(transform: str, language: str = "javascript") -> dict[str, Any]:
        return agent.call("test_transformation", transform=transform, input=lines, language=language)

    assert tried("input.split('\\n').filter(l => l.endsWith('.ts'))")["output"] == ["a.ts"]
    assert tried("{ lines: input.trim().split('\\n').length }")["output"] == {"lines": 2}
    assert tried("const parts = input.split('.');\nreturn parts.length")["output"] == 3
    assert tried("{{ input.length }} characters")["output"] == "10 characters"
    assert "not defined" in tried("process.env")["error"]
    assert tried("{{ input | length }}", "")["language"] == "jinja"
    with pytest.raises(ToolRefusedError, match="must be `jinja` or `javascript`"):
        tried("1", "python")


def test_numbers_and_names_that_nothing_has_are_no_failure_of_ours(agent: Agent) -> None:
    run = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
    for number in (2**63, 2**80):
        assert agent.call("get_workflow_history", workflow_id=run, after=number)["events"] == []
        assert agent.call("trace_transformations", workflow_id=run, after=number)["traces"] == []
    for tool in ("state_dependencies", "trace_transformations"):
        said = agent.refusal(tool, workflow_id=run, field="\x1b[2J\u202e")
        assert "has no field `?[2J?`" in said
