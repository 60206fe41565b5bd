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


EACH = """
name: each
description: A graph whose branches wait for each other, with a block for each of some items.
inputs:
  names: {type: list, default: [one, two, three]}
blocks:
  - {id: quick, type: Shell, inputs: {command: quick}}
  - {id: slow, type: Shell, inputs: {command: slow}}
  - id: b
    type: Shell
    for_each: "{{inputs.names}}"
    max_parallel: 2
    inputs: {command: "work {{each.value}} {{blocks.quick.exit_code}}"}
    depends_on: [quick]
  - {id: both, type: Shell, inputs: {command: both}, depends_on: [quick, slow]}
  - {id: end, type: Shell, inputs: {command: "end {{blocks.b['2'].stdout}}"}, depends_on: [b, both]}
outputs:
  said: "{{blocks.end.stdout}}"
  count: "{{blocks.b.metadata.count_succeeded}}"
"""


def test_a_block_for_each_item_begins_without_waiting_for_others_on_every_engine(box: Box) -> None:
    service = box.compile(EACH).service
    reply = service.start("each")
    run = reply["workflow_id"]
    assert sorted(names(reply)) == ["quick", "slow"]
    reply = service.submit(run, "quick", done())
    # `b` depends on `quick` only, while `slow` is still at work.
    [each] = [one for one in reply.get("actions") or [reply["action"]] if one["step_id"] == "b"]
    children = each["parameters"]["children"]
    assert len(children) == 2
    for number in range(3):
        waiting = next(
            one
            for one in box.restart().status(run).get("actions") or [box.service.status(run)["action"]]
            if one["step_id"] == "b"
        )
        child = next(one for one in waiting["parameters"]["children"] if one["index"] == number)
        action = box.service.next_step(child["workflow_id"])["action"]
        assert action["parameters"]["command"] == f"work {['one', 'two', 'three'][number]} 0"
        box.service.submit(child["workflow_id"], "b", done(0, f"did {number}"))
    box.service.submit(run, "slow", done())
    box.service.submit(run, "both", done())
    last = box.service.status(run)
    assert last["action"]["parameters"]["command"] == "end did 2"
    box.service.submit(run, "end", done(0, "ended"))
    assert box.service.status(run)["result"] == {"said": "ended", "count": 3}
