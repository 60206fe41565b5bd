"""LLMCall and ImageGen: actions of the agent, with the schema of the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.blocks.support import compiled, workflow
from tests.support import check
from wfc.findings import Severity
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.effects import Ask
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

INPUTS = "inputs:\n  text: {type: str, default: long}"


def started(folder: Path, blocks: str, outputs: str) -> tuple[SqliteService, dict[str, Any]]:
    service = SqliteService(
        Store(folder / "runs.db"), Registry(compiled(folder, workflow(blocks, outputs, INPUTS)))
    )
    return service, service.start("case", {})


def test_a_model_is_asked_by_the_agent_that_answers_in_the_declared_form(tmp_path: Path) -> None:
    service, reply = started(
        tmp_path,
        """
  - id: ask
    type: LLMCall
    inputs:
      profile: default
      temperature: 0.2
      system_instructions: Be short about {{inputs.text}}.
      prompt: "Rate {{inputs.text}} {{ '{{' }}."
      response_schema:
        type: object
        properties: {score: {type: integer}}
        required: [score]
  - id: say
    type: Shell
    inputs: {command: "echo {{blocks.ask.outputs.response.score}}"}
    depends_on: [ask]
""",
        '  score: "{{blocks.ask.outputs.response.score}}"\n  ok: "{{blocks.ask.outputs.success}}"',
    )
    try:
        action = reply["action"]
        assert action["type"] == "delegate"
        assert action["parameters"]["instructions"] == "Be short about long.\n\nRate long {{ '{{' }}."
        with pytest.raises(RefusedError, match="does not fit"):
            service.submit(reply["workflow_id"], "ask", {"response": {"score": "high"}})
        after = service.submit(reply["workflow_id"], "ask", {"response": {"score": 7}})
        assert after["action"]["parameters"]["command"] == "echo 7"
        result = {"stdout": "7\n", "stderr": "", "exit_code": 0}
        ended = service.submit(reply["workflow_id"], "say", result)
        assert ended["result"] == {"score": 7, "ok": True}
    finally:
        service.close()


def test_without_a_schema_the_answer_is_text(tmp_path: Path) -> None:
    service, reply = started(
        tmp_path,
        '  - {id: ask, type: LLMCall, inputs: {provider: x, prompt: "Sum up {{inputs.text}}."}}',
        '  said: "{{blocks.ask.response.content}}"',
    )
    try:
        ended = service.submit(reply["workflow_id"], "ask", {"response": {"content": "short"}})
        assert ended["result"] == {"said": "short"}
    finally:
        service.close()


def test_an_image_is_made_by_the_agent_that_says_where_it_is(tmp_path: Path) -> None:
    service, reply = started(
        tmp_path,
        """
  - id: draw
    type: ImageGen
    inputs: {profile: default, prompt: "A {{inputs.text}} road", size: 256x256, output_file: "{{tmp}}/a.png"}
""",
        '  files: "{{blocks.draw.saved_files}}"',
    )
    try:
        told = reply["action"]["parameters"]["instructions"]
        assert told == "A long road\n\nsize: 256x256\n\noutput_file: ${SCRATCH}/a.png"
        ended = service.submit(reply["workflow_id"], "draw", {"saved_files": ["a.png"]})
        assert ended["result"] == {"files": ["a.png"]}
    finally:
        service.close()


def test_a_model_gets_tools_a_session_and_a_budget_and_so_does_the_run(tmp_path: Path) -> None:
    wishes = "tools: [read], session: author, budget: {usd: 0.5}"
    text = workflow(
        f"""
  - {{id: ask, type: LLMCall, inputs: {{prompt: Why?, {wishes}}}}}
  - {{id: each, type: LLMCall, for_each: [a], inputs: {{prompt: "{{{{each.value}}}}", {wishes}}}}}
""",
        "  x: '{{blocks.ask.succeeded}}'",
        "budget: {steps: 9}",
    )
    module = Registry(compiled(tmp_path, text)).find("case").workflow
    one, each = module.machine.steps["ask"], module.tasks["each"].steps["each"]
    assert module.machine.budget == {"steps": 9}
    for step in (one, each):
        assert isinstance(step, Ask)
        assert step.budget == {"usd": 0.5}
        assert (step.parameters["tools"], step.parameters["session"]) == (["read"], "author")


@pytest.mark.parametrize(
    ("block", "code"),
    [
        ("type: LLMCall, inputs: {profile: x}", "WF005"),
        ("type: LLMCall, inputs: {prompt: x, tools: [fly]}", "WF006"),
        ('type: LLMCall, inputs: {prompt: x, session: "{{inputs.text}}"}', "WF006"),
        ("type: LLMCall, inputs: {prompt: x, budget: {usd: lots}}", "WF006"),
        ("type: LLMCall, inputs: {prompt: x, budget: {usd: -1}}", "WF006"),
        ("type: LLMCall, inputs: {prompt: x, budget: {cents: 1}}", "WF004"),
        ("type: LLMCall, inputs: {prompt: x, instructions_file: ../../none.md}", "WF117"),
        ('type: LLMCall, inputs: {prompt: "{{secrets.KEY}}"}', "WF507"),
        ('type: LLMCall, inputs: {prompt: "{{inputs.nope}}"}', "WF204"),
        ("type: ImageGen, inputs: {promt: x}", "WF004"),
    ],
)
def test_a_mistake_in_such_a_block_is_found(block: str, code: str) -> None:
    found = check(workflow(f"  - {{id: b, {block}}}", "  x: '{{blocks.b.succeeded}}'", INPUTS))
    assert code in [one.code for one in found if one.severity is Severity.ERROR], found
