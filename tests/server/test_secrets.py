"""Through a real server and a real command line: what is marked as a secret is nowhere to be read."""

from __future__ import annotations

import json

import pytest

from tests.e2e.command import wfc
from tests.server.driver import SHELL_OK, Place
from wfc_runtime.server.replies import to_failure

TOKEN, CODE = "tk-9f8e7d6c5b4a", "code-4711"


def test_a_secret_reaches_the_action_and_nothing_that_is_shown_or_logged(place: Place) -> None:
    with place.server("--toolsets", "core,debug", "--typed-tools", "--elicit") as agent:
        [tool] = [one for one in agent.ask("list_tools").tools if one.name == "start_log_in"]
        assert tool.input_schema["properties"]["token"]["writeOnly"] is True
        info = agent.call("get_workflow_info", workflow="log-in")
        assert info["inputs"]["properties"]["token"]["writeOnly"] is True
        reply = agent.call("start_log_in", token=TOKEN)
        assert reply["action"]["parameters"]["command"] == f"login -- {TOKEN}"
        run = reply["workflow_id"]
        agent.call("submit_result", workflow_id=run, step_id="enter", result={**SHELL_OK, "stdout": TOKEN})
        reply = agent.call("submit_result", workflow_id=run, step_id="code", result={"input": CODE})
        assert reply["action"]["parameters"]["parameters"] == {"code": CODE, "session": TOKEN}
        shown = [
            agent.call("get_workflow_history", workflow_id=run),
            agent.call("get_workflow_state", workflow_id=run, fields=["entered", "code"]),
            agent.call("list_runs"),
            agent.read(f"wfc://runs/{run}/state"),
            agent.read(f"wfc://runs/{run}/history"),
            agent.read(f"wfc://runs/{run}/chart"),
            agent.call("checkpoint", workflow_id=run, reason=f"before {TOKEN} is used"),
            agent.call("list_checkpoints"),
            agent.call("list_checkpoints", workflow_id=run),
            agent.call("get_checkpoint", checkpoint_id=f"{run}:3"),
            agent.call("get_checkpoint", checkpoint_id=f"{run}:4"),
            agent.call("trace_transformations", workflow_id=run),
            agent.call("state_dependencies", workflow_id=run, field="code"),
            agent.refusal("resume_workflow", checkpoint_id=f"{run}:4", response=CODE),
            agent.refusal("start_log_in", token=[TOKEN]),
            agent.refusal(
                "submit_result", workflow_id=run, step_id="code", result={"input": "another"}
            ).partition("Pending now: ")[0],
            agent.log,
        ]
        for command in (
            ["list"],
            ["show", run],
            ["history", run],
            ["show", run, "--json"],
            ["history", run, "--json"],
            ["state", run],
            ["state", run, "entered", "code", "--json"],
            ["export", run],
        ):
            done = wfc("runs", "--state", place.state, *command, cwd=place.folder)
            assert (done.status == 0) is (command[0] != "export"), done
            shown += [done.out, done.err]
        for text in map(json.dumps, shown):
            assert TOKEN not in text
            assert CODE not in text


def test_a_failure_of_ours_is_logged_without_what_it_quotes(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise KeyError(TOKEN)

    with pytest.raises(KeyError) as caught:
        fail()
    told = to_failure("submit_result", caught.value)
    assert "internal error of wfc (KeyError)" in str(told)
    assert "submit_result failed: KeyError" in caplog.text
    assert "in fail" in caplog.text
    assert TOKEN not in caplog.text + str(told)
