"""A mission with two agents at the same time, and the model that orchestrates it and plays both.

The reports reach the server as the client hands the texts of its sub-agents to the orchestrator.
"""

from __future__ import annotations

import json
import re

from tests.claude_code.model import Block, Request, Script, say, use

MISSION = """\
name: two-pages
objective: Two pages.
proof: none
phases:
  - id: write
    number: 1
    parallel: true
    agents:
      - {type: guide, subagent_type: general-purpose, scope: [docs/guide/]}
      - {type: notes, subagent_type: general-purpose, scope: [docs/notes/]}
    completion: all agents success
    checkpoint: human
"""
REPORT = """\
I have looked at everything.

STATUS: {status}
SUMMARY: The {role} page is written.

DECISIONS:
- Question: Is the {role} page short?
  Chosen: No
  Reasoning: Readers ask for examples.
"""


def orchestrator(prefix: str) -> Script:
    """Works the mission to its checkpoint. The agent for the notes falls short in its first round."""
    asked: list[str] = []

    def script(request: Request) -> list[Block]:
        brief = json.dumps(request.body["messages"][0], ensure_ascii=False)
        role = re.search(r"You are the (guide|notes) in phase 1", brief)
        if role:
            is_short = role[1] == "notes" and "What fell short in the last round" not in brief
            return [say(REPORT.format(role=role[1], status="partial" if is_short else "success"))]
        if not request.results:
            return [use("Bash", command="sleep 3", description="Wait for the server")]
        if len(request.results) == 1:
            return [use(f"{prefix}start_workflow", workflow="two-pages", inputs={})]
        last = request.results[-1]
        run = re.findall(r'"workflow_id":"(\w{26})"', "".join(request.results))[0]
        if '"type":"delegate"' in last:
            reply = json.loads(last)
            actions = reply.get("actions") or [reply["action"]]
            asked[:] = [one["step_id"] for one in actions]
            return [_sub_agent(one["parameters"]) for one in actions]
        if '"workflow_id"' not in last:
            # The client hands back the text of the sub-agent that ends first before the others.
            texts = request.results[-len(asked) :]
            return [
                use(f"{prefix}submit_result", workflow_id=run, step_id=visit, result=text)
                for visit in asked
                for text in texts
                if f"The {_role(visit)} page" in text
            ]
        if '"write-stop"' in last:
            answer = {"selected": "again"}
            return [use(f"{prefix}submit_result", workflow_id=run, step_id="write-stop", result=answer)]
        return [say("The person has to approve it.")]

    return script


def _role(visit: str) -> str:
    return visit.partition("@")[0].removeprefix("write-")


def _sub_agent(parameters: dict[str, str]) -> Block:
    return use(
        "Agent",
        description="A page",
        prompt=parameters["instructions"],
        subagent_type=parameters["subagent_type"],
        run_in_background=False,
    )
