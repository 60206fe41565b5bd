"""Actions that only compute are done by the server itself, without a grant; all others are left to the agent."""

from __future__ import annotations

import pytest

from tests.server.driver import ERAS, Agent, Place, Reply

both_eras = pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)
HEAD = 'name: w\nversion: "1.0.0"\n'
TEMPLATE = '"{% raw %}Hello {{ name }}{% endraw %}"'
RENDER = (
    f"{{id: render, type: render_template, template: {TEMPLATE}, variables: {{name: Ada}}, output_to: out"
)
END = "  - {id: end, type: return, needs_state: [out], value: '{{ state.out.content }}'}\n"


def run(agent: Agent, *steps: str, end: str = END) -> Reply:
    lines = "".join(f"  - {step}\n" for step in steps)
    text = f"{HEAD}steps:\n{lines}{end}"
    return agent.call("execute_inline_workflow", yaml=text)


@both_eras
def test_a_template_without_a_file_is_rendered_by_the_server_without_a_grant(place: Place, mode: str) -> None:
    with place.server("--toolsets", "core,author,debug", mode=mode) as agent:
        done = run(agent, f"{RENDER}}}")
        assert (done["status"], done["result"]) == ("completed", "Hello Ada")
        events = agent.call("get_workflow_history", workflow_id=done["workflow_id"])["events"]
        assert [(event["event"], event["actor"]) for event in events[1:]] == [("submitted", "server")]
        assert (events[0]["actor"] or "").startswith("mcp")


def test_a_template_with_a_file_is_left_to_the_agent(agent: Agent) -> None:
    reply = run(agent, f"{RENDER}, output_path: out.txt}}")
    assert (reply["status"], reply["action"]["type"]) == ("pending_action", "render_template")


@pytest.mark.parametrize(
    "step",
    [
        "{id: render, type: read_file, path: /etc/passwd, output_to: out}",
        "{id: render, type: create_file, path: out.txt, content: x, output_to: out}",
        "{id: render, type: shell, command: ls, runner: server, output_to: out}",
        "{id: render, type: read_json_state, path: x.json, output_to: out}",
    ],
)
def test_what_touches_a_file_or_runs_a_command_is_never_done_without_a_grant(agent: Agent, step: str) -> None:
    reply = run(agent, step, end="")
    assert (reply["status"], reply["action"]["step_id"]) == ("pending_action", "render")


def test_a_template_that_can_not_be_rendered_fails_its_step_and_the_workflow_decides(agent: Agent) -> None:
    broken = RENDER.replace("name: Ada", "other: Ada")
    failed = run(agent, f"{broken}}}")
    assert failed["status"] == "failed"
    assert "can't be rendered" in failed["error"]["message"]
    handled = run(agent, f"{broken}, on_error: continue}}", "{id: ask, type: shell, command: ls}", end="")
    assert handled["action"]["step_id"] == "ask"


def test_templates_beside_actions_of_the_agent_and_in_loops_are_rendered_in_the_same_call(
    agent: Agent,
) -> None:
    branches = f"{{id: p, type: parallel, branches: {{x: [{RENDER}}}], y: [{{id: ask, type: shell, command: ls}}]}}}}"
    reply = run(agent, branches)
    assert reply["action"]["step_id"] == "ask"
    result = {"stdout": "", "exit_code": 0}
    done = agent.call("submit_result", workflow_id=reply["workflow_id"], step_id="ask", result=result)
    assert done["result"] == "Hello Ada"
    loop = f"{{id: l, type: while, if: '{{{{ true }}}}', max_iterations: 30, steps: [{RENDER}}}]}}"
    looped = run(agent, loop, end="")
    assert looped["error"]["code"] == "max_iterations"
    events = agent.call("get_workflow_history", workflow_id=looped["workflow_id"])["events"]
    assert [event["event"] for event in events] == ["started"] + ["submitted"] * 30


def test_one_call_renders_a_thousand_templates_and_leaves_the_next_to_the_agent(agent: Agent) -> None:
    loop = f"{{id: l, type: while, if: '{{{{ true }}}}', max_iterations: 1200, steps: [{RENDER}}}]}}"
    reply = run(agent, loop, end="")
    assert reply["action"]["step_id"] == "render@1001"
    result = {"content": "by the agent"}
    arguments = {"workflow_id": reply["workflow_id"], "step_id": "render@1001", "result": result}
    assert agent.call("submit_result", arguments)["error"]["code"] == "max_iterations"


def test_a_kill_in_the_middle_renders_nothing_twice(place: Place) -> None:
    with place.server("--toolsets", "core,author,debug") as agent:
        reply = run(agent, "{id: ask, type: shell, command: ls}", f"{RENDER}}}")
        agent.kill_worker()
        done = agent.call(
            "submit_result",
            workflow_id=reply["workflow_id"],
            step_id="ask",
            result={"stdout": "", "exit_code": 0},
        )
        assert done["result"] == "Hello Ada"
        agent.kill_worker()
        events = agent.call("get_workflow_history", workflow_id=reply["workflow_id"])["events"]
        assert [event["event"] for event in events] == ["started", "submitted", "submitted"]
