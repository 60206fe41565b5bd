"""Features that the generated workflows of test_model do not have, on the real service beside the interpreter."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import yaml

from tests.model.world import World, make_world, result_for

HEAD = 'name: w\nversion: "1.0.0"\ninputs: {target: {type: string, required: true}}\n'
AFTER = "  - {id: after, type: mcp_call, tool: t, on_error: continue}\n"
TASK = """\
tasks:
  one:
    inputs: {target: {type: string, required: true}}
    initial_state: {l: []}
    steps:
      - {id: own, type: change, changes: [{path: l, operation: append, value: "{{ inputs.target }}"}]}
      - {id: look, type: mcp_call, tool: t, changes: [{path: l, operation: append, value: "{{ result }}"}]}
"""
BRANCHES = """{
      a: [{id: x, type: mcp_call, tool: t, output_to: x}],
      b: [{id: y, type: mcp_call, tool: t}, {id: z, type: mcp_call, tool: t}]}"""
TREES = {
    **{
        f"parallel, join {join}, {on_error}": f"""
steps:
  - {{id: p, type: parallel, join: {join}, on_error: {on_error}, branches: {BRANCHES}}}
{AFTER}"""
        for join, on_error in [("all", "fail"), ("all", "continue"), ("any", "fail"), ("any", "continue")]
    },
    **{
        f"foreach, {options}": f"""
initial_state: {{l: [0]}}
steps:
  - {{id: f, type: foreach, items: [a, b, c], task: one, output_to: o, {options}}}
{AFTER}{TASK}"""
        for options in [
            "join: fail_fast",
            "join: fail_fast, on_error: continue",
            "join: any",
            "join: any, sequential: true, on_error: continue",
            "shares: [l]",
            "shares: [l], on_error: continue",
        ]
    },
    "restarts": f"""
restarts: 2
initial_state: {{n: 0}}
steps:
  - {{id: c, type: change, changes: [{{path: n, operation: increment}}]}}
  - {{id: m, type: mcp_call, tool: t, output_to: got}}
  - {{id: p, type: parallel, branches: {BRANCHES}}}
""",
    "on_failure": f"""
on_failure: [{{id: u, type: mcp_call, tool: t, parameters: {{e: "{{{{ error.code }}}}"}}, output_to: undone}}]
steps:
  - {{id: p, type: parallel, branches: {BRANCHES}}}
""",
    "completes_on_failure": """
completes_on_failure: true
on_failure: [{id: u, type: mcp_call, tool: t, parameters: {e: "{{ error.step_id }}"}, output_to: undone}]
steps: [{id: m, type: mcp_call, tool: t}, {id: m2, type: mcp_call, tool: t}]
""",
    "deadline": "deadline: 60\nsteps: [{id: m, type: mcp_call, tool: t}, {id: m2, type: mcp_call, tool: t}]\n",
    "until_answer": f"""
steps:
  - {{id: w, type: wait, until_answer: true, duration_seconds: 20, output_to: w}}
  - {{id: w2, type: wait, until_answer: true, output_to: w2}}
{AFTER}""",
    "count_to": f"""
steps:
  - id: w
    type: while
    needs_state: [turn]
    count_to: turn
    if: "{{{{ state.turn < 4 }}}}"
    max_iterations: 2
    at_limit: leave
    steps: [{{id: m, type: mcp_call, tool: t, on_error: continue}}]
{AFTER}""",
    "fail": """
steps:
  - {id: p, type: prompt, prompt_type: confirm, message: Go on, output_to: go}
  - {id: m, type: mcp_call, tool: t}
  - id: c
    type: condition
    if: "{{ true }}"
    then: [{id: f, type: fail, needs_state: [go], when: "{{ not state.go.confirmed }}", message: No.}]
""",
}
CALLS = 25
"""How long a run is followed that goes on and on, because it is retried."""


@pytest.mark.parametrize("what", TREES)
def test_the_service_and_the_interpreter_agree_on(what: str, tmp_path: Path) -> None:
    tree = yaml.safe_load(HEAD + TREES[what])
    for seed in range(3):
        (folder := tmp_path / str(seed)).mkdir()
        world = make_world(folder, tree)
        assert world is not None
        try:
            world.start(tree)
            _follow(world, Random(seed))
        finally:
            world.close()


def _follow(world: World, random: Random) -> None:
    """Answers, failures, time and retries, each compared."""
    for _ in range(CALLS):
        questions = world.questions()
        if not questions:
            if not world.can_retry():
                return
            world.retry(is_named=False)
            continue
        run, wait = random.choice(questions)
        if wait.items is not None or random.random() < 0.15:
            world.pass_(21)
            world.look()
        elif random.random() < 0.45:
            world.submit(run, wait, {"error": "could not"}, True)
        else:
            world.submit(run, wait, *result_for(world, run, wait, random))
