"""Graphs of blocks on a real server: what it does itself, what it leaves to the agent, and what it asks the person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal

from tests.runtime.support import modules_of
from tests.server.conftest import make_place
from tests.server.driver import ERAS, SHELL_OK, Agent, Place
from tests.server.test_elicitation import Person
from tests.server.test_http import Endpoint, connected, serve

GRAPH = """
name: graph
description: Commands on the list and beside it, a question, a child, a file outside.
inputs:
  count: {type: int, default: 2, description: How many.}
blocks:
  - {id: token, type: Shell, inputs: {command: ./show}}
  - {id: beside, type: Shell, inputs: {command: uname -a}}
  - {id: ask, type: Prompt, depends_on: [token], inputs: {human: true, prompt: "Ship ${inputs.count}?"}}
  - id: kid
    type: Workflow
    depends_on: [ask]
    condition: ${blocks.ask.response} == 'yes'
    inputs: {workflow: kid, inputs: {count: "${inputs.count}"}}
outputs:
  token: ${blocks.token.stdout}
  beside: ${blocks.beside.stdout}
  kid: ${blocks.kid.outputs.name}
"""
KID = """
name: kid
description: Asks as well.
inputs:
  count: {type: int}
blocks:
  - {id: name, type: Prompt, inputs: {human: true, prompt: "A name for ${inputs.count}?"}}
outputs:
  name: {value: "${blocks.name.response}", type: str, description: What it is called.}
"""
SHOW = '#!/bin/sh\necho "$CI_TOKEN,$OTHER"\n'
GRANTED = ("--allow-exec", "./show *", "--exec-env", "CI_TOKEN")
ENVIRONMENT = {"CI_TOKEN": "t0ken", "OTHER": "hidden"}
both_eras = pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)


@pytest.fixture
def graphs(tmp_path: Path, portal: BlockingPortal) -> Place:
    (tmp_path / "show").write_text(SHOW)
    (tmp_path / "show").chmod(0o755)
    return make_place(tmp_path, portal, modules_of(GRAPH, KID))


@both_eras
def test_a_graph_goes_on_by_itself_but_for_the_person_and_what_is_not_on_the_list(
    graphs: Place, mode: str
) -> None:
    person = Person([{"input": "yes"}, {"input": "Ada"}])
    with graphs.server(*GRANTED, "--elicit", mode=mode, on_form=person.on_form, env=ENVIRONMENT) as agent:
        reply = agent.call("start_workflow", workflow="graph", inputs={"count": 3})
        assert reply["action"]["step_id"] == "beside"
        end = agent.call("submit_result", workflow_id=reply["workflow_id"], step_id="beside", result=SHELL_OK)
    assert [message for message, _ in person.seen] == ["Ship 3?", "A name for 3?"]
    assert end["result"] == {"token": "t0ken,\n", "beside": SHELL_OK["stdout"], "kid": "Ada"}


def test_get_workflow_info_tells_the_outputs_of_a_graph_with_their_types(graphs: Place) -> None:
    with graphs.server() as agent:
        assert agent.call("get_workflow_info", workflow="kid")["outputs"] == {
            "name": {"type": "str", "description": "What it is called."}
        }
        assert agent.call("get_workflow_info", workflow="graph")["outputs"] == {
            "token": {},
            "beside": {},
            "kid": {},
        }


def test_an_int_is_an_integer_to_whoever_starts_a_graph(graphs: Place) -> None:
    with graphs.server("--typed-tools") as agent:
        tools = {tool.name: tool.input_schema for tool in agent.ask("list_tools").tools}
        assert tools["start_graph"]["properties"]["count"]["type"] == "integer"
        assert "whole number" in agent.refusal("start_graph", count=1.5)


@pytest.fixture(scope="module")
def over_http(tmp_path_factory: pytest.TempPathFactory, portal: BlockingPortal) -> Iterator[Endpoint]:
    yield from serve(make_place(tmp_path_factory.mktemp("graphs"), portal, modules_of(GRAPH, KID)))


@both_eras
def test_a_graph_is_worked_over_http_too(over_http: Endpoint, portal: BlockingPortal, mode: str) -> None:
    person = Person([{"input": "no"}])
    with portal.wrap_async_context_manager(connected(over_http, mode, person.on_form)) as client:
        agent = Agent(client, portal, Path(), Path())
        reply = agent.call("start_workflow", workflow="graph")
        assert [one["step_id"] for one in reply["actions"]] == ["token", "beside"]
        run = reply["workflow_id"]
        agent.call("submit_result", workflow_id=run, step_id="token", result=SHELL_OK)
        end = agent.call("submit_result", workflow_id=run, step_id="beside", result=SHELL_OK)
    assert (end["status"], end["result"]["kid"]) == ("completed", "")


@both_eras
def test_closing_the_form_of_a_workflow_that_was_called_leaves_it_to_the_agent(
    graphs: Place, mode: str
) -> None:
    person = Person([{"input": "yes"}, "cancel"])
    with graphs.server("--allow-exec", "--elicit", mode=mode, on_form=person.on_form) as agent:
        reply = agent.call("start_workflow", workflow="graph")
        assert reply["action"]["step_id"] == "kid"
        assert "This is not an answer, and never a yes" in reply["action"]["instruction"]
        child = reply["action"]["parameters"]["children"][0]["workflow_id"]
        agent.call("submit_step_result", workflow_id=child, step_id="name", result={"input": "Ada"})
        end = agent.call("get_workflow_status", workflow_id=reply["workflow_id"])
    assert end["result"]["kid"] == "Ada"
