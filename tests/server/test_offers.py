"""What a client sees before it calls anything: tools, hints, instructions, prompts, resources."""

from __future__ import annotations

import json
import re

import pytest
from mcp import MCPError

from tests.server.driver import ERAS, SHELL_OK, Agent, Place

CORE = {
    "start_workflow",
    "submit_result",
    "get_workflow_status",
    "get_next_step",
    "submit_step_result",
    "list_workflows",
    "get_workflow_info",
    "list_runs",
    "cancel_workflow",
}
DEBUG = {
    "get_workflow_state",
    "get_workflow_history",
    "state_dependencies",
    "trace_transformations",
    "test_transformation",
    "explain_plan",
    "list_checkpoints",
    "get_checkpoint",
    "checkpoint",
    "resume_workflow",
    "delete_checkpoint",
    "cleanup_checkpoints",
}
AUTHOR = {
    "validate_workflow_yaml",
    "get_workflow_schema",
    "execute_inline_workflow",
}
CHANGING = {
    "start_workflow",
    "submit_result",
    "submit_step_result",
    "cancel_workflow",
    "execute_inline_workflow",
    "checkpoint",
    "resume_workflow",
    "delete_checkpoint",
    "cleanup_checkpoints",
}
DESTROYING = {"cancel_workflow", "delete_checkpoint", "cleanup_checkpoints"}
NOT_TWICE = {"start_workflow", "execute_inline_workflow", "checkpoint", "resume_workflow"}


def test_each_toolset_has_its_tools(agent: Agent) -> None:
    names = {tool.name for tool in agent.ask("list_tools").tools}
    assert names == CORE | DEBUG | AUTHOR
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)


def test_tools_say_truly_whether_they_read_destroy_or_may_be_repeated(agent: Agent) -> None:
    tools = {tool.name: tool for tool in agent.ask("list_tools").tools}
    for name, tool in tools.items():
        hints = tool.annotations
        assert hints.read_only_hint == (name not in CHANGING), name
        assert hints.destructive_hint == (name in DESTROYING), name
        assert hints.idempotent_hint == (name not in NOT_TWICE), name
        assert hints.open_world_hint is False
    first = {name for name, tool in tools.items() if "anthropic/alwaysLoad" in (tool.meta or {})}
    assert first == {"start_workflow", "submit_result", "get_workflow_status"}
    keyed = {name for name, tool in tools.items() if "wfc/keyed" in (tool.meta or {})}
    assert keyed == {"start_workflow", "execute_inline_workflow"}
    assert tools["submit_result"].meta == {"anthropic/alwaysLoad": True}


def test_no_argument_has_a_list_of_types_which_some_clients_refuse(agent: Agent) -> None:
    for tool in agent.ask("list_tools").tools:
        for name, schema in tool.input_schema["properties"].items():
            assert isinstance(schema.get("type", ""), str), (tool.name, name)


def test_every_tool_and_argument_is_described_and_short_enough_not_to_be_cut(agent: Agent) -> None:
    for tool in agent.ask("list_tools").tools:
        assert 20 < len(tool.description) < 1_000
        assert tool.output_schema is None
        assert tool.input_schema["additionalProperties"] is False
        assert all(argument["description"] for argument in tool.input_schema["properties"].values())


def test_the_instructions_fit_and_name_every_core_tool_that_drives_a_run(agent: Agent) -> None:
    instructions = agent.client.instructions or ""
    assert 500 < len(instructions) < 4_096
    for name in CORE - {"cancel_workflow"}:
        assert name in instructions


@pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)
def test_typed_tools_have_the_inputs_of_their_workflow_as_arguments(place: Place, mode: str) -> None:
    with place.server("--typed-tools", mode=mode) as agent:
        tools = {tool.name: tool for tool in agent.ask("list_tools").tools}
        typed = {
            "start_greet",
            "start_ask_all",
            "start_fan_out",
            "start_keep",
            "start_log_in",
            "start_side_by_side",
        }
        assert set(tools) == CORE | typed
        schema = tools["start_greet"].input_schema
        assert schema["required"] == ["name"]
        assert schema["properties"]["times"] == {
            "type": "number",
            "default": 1,
            "description": "How often.",
            "minimum": 1,
            "maximum": 3,
        }
        assert "Say hello to somebody" in tools["start_greet"].description
        reply = agent.call("start_greet", name="root", times=2)
        assert reply["action"]["parameters"]["command"] == "getent passwd root"
        assert "`name` is required" in agent.refusal("start_greet")
        assert "there is no tool `start_nothing`" in agent.refusal("start_nothing")


def test_a_module_that_changes_under_the_server_is_picked_up_and_a_broken_one_is_listed(
    place: Place, modules: dict[str, str]
) -> None:
    with place.server() as agent:
        assert len(agent.call("list_workflows")["workflows"]) == 6
        greet = place.folder / "generated" / "greet.py"
        greet.write_text(modules["greet.py"] + "\n# by hand\n", encoding="utf-8")
        (place.folder / "generated" / "keep.py").unlink()
        reply = agent.call("list_workflows")
        assert {one["workflow"] for one in reply["workflows"]} == {
            "ask-all",
            "fan-out",
            "log-in",
            "side-by-side",
        }
        [broken] = reply["broken"]
        assert "greet.py has been edited" in broken["reason"]
        assert "`wfc compile`" in broken["hint"]
        assert "has been edited" in agent.refusal("start_workflow", workflow="greet")
        greet.write_text(modules["greet.py"], encoding="utf-8")
        assert (
            agent.call("start_workflow", workflow="greet", inputs={"name": "x"})["status"] == "pending_action"
        )


def test_there_is_a_prompt_for_each_workflow_and_one_with_the_rules_for_sub_agents(agent: Agent) -> None:
    prompts = {prompt.name: prompt for prompt in agent.ask("list_prompts").prompts}
    assert set(prompts) == {"workflow_rules", "ask-all", "fan-out", "greet", "keep", "log-in", "side-by-side"}
    arguments = {one.name: one.required for one in prompts["greet"].arguments}
    assert arguments == {"name": True, "times": False}


def test_a_workflows_prompt_tells_the_agent_how_to_drive_it_with_what_was_given(agent: Agent) -> None:
    [message] = agent.ask("get_prompt", "greet", {"name": "root", "times": "2"}).messages
    assert 'start_workflow(workflow="greet"' in message.content.text
    assert '{"name": "root", "times": 2} are given' in message.content.text
    with pytest.raises(MCPError, match="`nme` is not an input of `greet`"):
        agent.ask("get_prompt", "greet", {"nme": "root"})
    with pytest.raises(MCPError, match="there is no workflow `gret`"):
        agent.ask("get_prompt", "gret", {})


def test_a_workflows_prompt_has_the_whole_schema_of_objects(agent: Agent) -> None:
    [message] = agent.ask("get_prompt", "side-by-side", {}).messages
    text = message.content.text
    [name] = set(re.findall(r'"#/\$defs/(\w+)"', text))
    assert f'"{name}": {{' in text
    assert "Which machine." in text


def test_the_rules_for_sub_agents_name_the_run_and_both_tools(agent: Agent) -> None:
    [message] = agent.ask("get_prompt", "workflow_rules", {"workflow_id": "abc123"}).messages
    text = message.content.text
    assert "<workflow-server-rules>" in text
    assert 'get_next_step(workflow_id="abc123")' in text
    assert 'submit_step_result(workflow_id="abc123"' in text
    with pytest.raises(MCPError, match="workflow_id"):
        agent.ask("get_prompt", "workflow_rules", {})


def test_a_runs_state_history_and_chart_can_be_read_as_resources(agent: Agent) -> None:
    run = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
    assert json.loads(agent.read(f"wfc://runs/{run}/state")) == {}
    agent.call("submit_result", workflow_id=run, step_id="look-up", result=SHELL_OK)
    assert json.loads(agent.read(f"wfc://runs/{run}/state")) == {"entry": SHELL_OK}
    events = json.loads(agent.read(f"wfc://runs/{run}/history"))["events"]
    assert [event["event"] for event in events] == ["started", "submitted"]
    chart = agent.read(f"wfc://runs/{run}/chart")
    assert chart.startswith("stateDiagram-v2")
    assert "look_up --> say_hello" in chart
    assert "class say_hello now" in chart


def test_the_resources_of_open_runs_are_listed_and_the_rest_has_templates(agent: Agent) -> None:
    run = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
    uris = {str(one.uri) for one in agent.ask("list_resources").resources}
    assert {f"wfc://runs/{run}/{what}" for what in ("state", "history", "chart")} <= uris
    templates = {one.uri_template for one in agent.ask("list_resource_templates").resource_templates}
    assert "wfc://runs/{id}/state" in templates
    assert "wfc://runs/{id}/history" in templates
    assert "wfc://runs/{id}/chart" in templates


def test_a_resource_that_is_not_there_is_refused_with_those_that_are(agent: Agent) -> None:
    assert "there is no run `nobody`" in agent.unread("wfc://runs/nobody/state")
    assert "Available: wfc://runs/{id}/state" in agent.unread("wfc://runs/x/secrets")
    assert "Available: " in agent.unread("wfc://runs/x/chart/more")
    run = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
    assert "has no result" in agent.unread(f"wfc://runs/{run}/result")
    assert f"step `say-hello` of run `{run}` is not pending" in agent.unread(
        f"wfc://runs/{run}/actions/say-hello"
    )


def test_the_chart_of_a_child_is_that_of_its_task_and_of_an_ended_run_shows_how_it_ended(
    agent: Agent,
) -> None:
    reply = agent.call("start_workflow", workflow="fan-out", inputs={"files": ["a"]})
    [child] = reply["action"]["parameters"]["children"]
    assert "class count now" in agent.read(f"wfc://runs/{child['workflow_id']}/chart")
    agent.call("cancel_workflow", workflow_id=reply["workflow_id"])
    assert "class cancelled now" in agent.read(f"wfc://runs/{reply['workflow_id']}/chart")
