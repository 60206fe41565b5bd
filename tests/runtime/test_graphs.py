"""Graphs of blocks on either engine, worked by an agent: the same actions, the same skips, the same outputs."""

from __future__ import annotations

from tests.runtime.support import Box, Reply

TOP = """
name: top
description: A graph with waves, a question, a call and a block that is skipped.
inputs:
  count: {type: int, default: 2}
blocks:
  - {id: lint, type: Shell, inputs: {command: make lint}}
  - {id: test, type: Shell, inputs: {command: make test}}
  - id: ask
    type: Prompt
    depends_on: [test, {block: lint, required: false}]
    inputs: {human: true, prompt: "Lint ${blocks.lint.outcome}. Ship ${inputs.count}?"}
  - {id: tidy, type: Shell, depends_on: [lint], inputs: {command: make tidy}}
  - id: ship
    type: Workflow
    depends_on: [ask]
    condition: ${blocks.ask.response} == 'yes'
    inputs: {workflow: ship, inputs: {count: "${inputs.count}"}, timeout_ms: 60000}
outputs:
  shipped: ${blocks.ship.outputs.said}
  size: ${blocks.ship.outputs.total_blocks}/${blocks.ship.outputs.execution_waves}
  tidied: ${blocks.tidy.status}
"""
SHIP = """
name: ship
description: What is called.
inputs:
  count: {type: int}
blocks:
  - {id: pack, type: CreateFile, inputs: {path: out.txt, content: "${inputs.count}"}}
  - {id: send, type: Shell, depends_on: [pack], inputs: {command: "send ${inputs.count}"}}
outputs:
  said: ${blocks.send.stdout}
"""


def names(reply: Reply) -> list[str]:
    return [one["step_id"] for one in reply.get("actions") or [reply["action"]]]


def done(code: int = 0, said: str = "") -> Reply:
    return {"stdout": said, "stderr": "", "exit_code": code}


def test_a_graph_runs_the_same_on_every_engine(box: Box) -> None:
    service = box.compile(TOP, SHIP).service
    reply = service.start("top", {"count": "3"})
    run = reply["workflow_id"]
    assert names(reply) == ["lint", "test"]
    service.submit(run, "lint", done(1))
    reply = box.restart().submit(run, "test", done())
    assert names(reply) == ["ask"]
    assert reply["action"]["parameters"]["message"] == "Lint failure. Ship 3?"
    reply = box.service.submit(run, "ask", {"input": "yes"})
    assert (names(reply), reply["action"]["parameters"]["timeout"]) == (["ship"], 60)
    child = reply["action"]["parameters"]["children"][0]["workflow_id"]
    made = {"path": "out.txt", "size_bytes": 1, "created": True}
    assert names(box.service.submit(child, "pack", made)) == ["send"]
    box.service.submit(child, "send", done(0, "sent 3"))
    reply = box.service.status(run)
    assert reply["status"] == "completed"
    assert reply["result"] == {"shipped": "sent 3", "size": "2/2", "tidied": "skipped"}


def test_a_call_in_a_graph_that_runs_out_of_time_fails_the_run_on_every_engine(box: Box) -> None:
    service = box.compile(TOP, SHIP).service
    run = service.start("top")["workflow_id"]
    service.submit(run, "lint", done())
    service.submit(run, "test", done())
    service.submit(run, "tidy", done())
    reply = service.submit(run, "ask", {"input": "yes"})
    child = reply["action"]["parameters"]["children"][0]["workflow_id"]
    box.clock.pass_(61)
    reply = service.status(run)
    assert (reply["status"], reply["error"]["code"]) == ("failed", "timeout")
    assert service.status(child)["status"] == "cancelled"
