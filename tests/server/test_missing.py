"""`start_workflow` and `get_workflow_info` name agents that a workflow needs and the project does not have."""

from __future__ import annotations

from pathlib import Path

from anyio.from_thread import BlockingPortal

from tests.e2e.command import wfc
from tests.server.driver import Place

CALLER = """\
name: caller
version: "1.0.0"
steps:
  - {id: sub, type: call, workflow: review, output_to: answer}
  - {id: done, type: return, needs_state: [answer], value: "{{ state.answer }}"}
"""
REVIEW = """\
name: review
version: "1.0.0"
steps:
  - {id: look, type: delegate, agent: "@code-reviewer", instructions: Look., output_to: seen}
  - {id: post, type: mcp_call, tool: chat.post, parameters: {}}
  - {id: done, type: return, needs_state: [seen], value: "{{ state.seen.response }}"}
"""


def make(folder: Path, portal: BlockingPortal, settings: str = "") -> Place:
    (folder / "workflows").mkdir()
    (folder / "workflows" / "caller.yaml").write_text(CALLER)
    (folder / "workflows" / "review.yaml").write_text(REVIEW)
    (folder / "pyproject.toml").write_text(f"[tool.wfc]\n{settings}\n")
    assert wfc("compile", cwd=folder).status == 0
    return Place(folder, portal)


def test_a_start_names_the_agents_that_are_missing_also_those_of_called_workflows(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    place = make(tmp_path, portal)
    with place.server(env={"CLAUDE_CONFIG_DIR": str(tmp_path)}) as agent:
        for reply in (
            agent.call("start_workflow", workflow="caller"),
            agent.call("get_workflow_info", workflow="review"),
        ):
            assert reply["missing"]["agents"] == ["@code-reviewer"]
            assert "general-purpose sub-agent" in reply["missing"]["hint"]
            assert "wfc library" not in reply["missing"]["hint"]
            assert list(reply)[-1] == "next"


def test_a_start_names_the_tools_that_the_settings_do_not_list(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    place = make(tmp_path, portal, 'tools = ["other"]\nignore = ["WF107"]')
    with place.server(env={"CLAUDE_CONFIG_DIR": str(tmp_path)}) as agent:
        missing = agent.call("start_workflow", workflow="review")["missing"]
    assert missing["tools"] == ["chat.post"]
    assert '{"error": "<tool> is missing"}' in missing["hint"]


def test_a_start_says_nothing_when_everything_is_there(tmp_path: Path, portal: BlockingPortal) -> None:
    place = make(tmp_path, portal)
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    (tmp_path / ".claude" / "agents" / "code-reviewer.md").write_text("Review.\n")
    with place.server("--typed-tools", env={"CLAUDE_CONFIG_DIR": str(tmp_path)}) as agent:
        assert "missing" not in agent.call("start_workflow", workflow="caller")
        assert "missing" not in agent.call("start_review")


def test_an_action_says_what_to_do_without_its_agent_or_its_tool(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    place = make(tmp_path, portal)
    with place.server() as agent:
        run = agent.call("start_workflow", workflow="review")
        assert "if there is no such agent, to a general-purpose one" in run["action"]["instruction"]
        after = agent.call(
            "submit_result", workflow_id=run["workflow_id"], step_id="look", result={"response": "fine"}
        )
        assert '{"error": "<tool> is missing"}; never make up a result' in after["action"]["instruction"]
