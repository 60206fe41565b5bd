"""What is known before a run: `wfc plan --agent` and `wfc doctor`."""

from __future__ import annotations

import json
import stat

from tests.agents.support import Desk
from tests.e2e.command import wfc

FLOW = """name: w
version: "1.0.0"
steps:
  - {id: plan, type: delegate, agent: "@planner", instructions: Plan it., tools: [read]}
  - {id: ok, type: prompt, prompt_type: confirm, message: Go?, output_to: ok_out}
  - {id: build, type: shell, command: make}
  - {id: each, type: foreach, items: [a, b], task: look}
  - {id: first, type: foreach, items: [a, b, c], task: look, join: any}
tasks:
  look:
    inputs: {name: {type: string, required: true}}
    steps: [{id: see, type: delegate, instructions: "Look at {{ inputs.name }}.", model: fast, tools: []}]
"""


def project(desk: Desk) -> None:
    (desk.project / "workflows/w.yaml").write_text(FLOW)
    (desk.project / "pyproject.toml").write_text(
        '[tool.wfc.agents]\ndefault = "stub"\nmodels = {fast = "haiku", strong = "opus"}\n'
        'planner = {use = "stub", agent = "planner", model = "strong"}\n'
    )


def test_the_plan_names_programs_models_prompts_and_the_least_price(desk: Desk) -> None:
    project(desk)
    shown = wfc("plan", "w", "--agent", "--json", cwd=desk.project, env=desk.env)
    assert shown.status == 0, shown.err
    plan = json.loads(shown.out)["agent"]
    by_step = {one["step"]: one for one in plan["steps"]}
    assert by_step["plan"]["model"] == "opus"
    assert (by_step["plan"]["agent"], by_step["plan"]["tools"]) == ("planner", ["read"])
    assert (by_step["see"]["program"], by_step["see"]["model"], by_step["see"]["tools"]) == (
        "stub",
        "haiku",
        [],
    )
    assert by_step["build"]["why_not"] == "`stub` does no shell steps"
    assert [one["step"] for one in plan["answers"]] == ["ok"]
    # One for the plan, two for the items, and at least one of three until one succeeds.
    assert (plan["calls"]["least"], plan["calls"]["most"]) == (4, 6)
    assert plan["fixed_tokens"] == {"least": 2_400 + 3 * 1_900, "most": 2_400 + 5 * 1_900}
    text = wfc("plan", "w", "--agent", "stub", cwd=desk.project, env=desk.env).out
    for words in (
        "stub, agent planner, model opus, tools read",
        "nobody: `stub` does no shell",
        "--answer ok=<confirm>",
    ):
        assert words in text
    assert "agent" not in json.loads(wfc("plan", "w", "--json", cwd=desk.project, env=desk.env).out)


def test_the_plan_compares_the_budget_with_the_least_that_calls_cost(desk: Desk) -> None:
    project(desk)
    path = desk.project / "workflows/w.yaml"
    path.write_text(
        FLOW.replace("steps:", "budget: {usd: 0.5, tokens: 8000, steps: 1200, seconds: 90}\nsteps:", 1)
    )
    text = wfc("plan", "w", "--agent", cwd=desk.project, env=desk.env).out
    assert "budget    0.5 USD, 8,000 tokens, 1,200 steps, 90 s" in text
    assert "every run uses up the budget of tokens" in text
    path.write_text(FLOW.replace("steps:", "budget: {tokens: 8100}\nsteps:", 1))
    text = wfc("plan", "w", "--agent", cwd=desk.project, env=desk.env).out
    assert "budget    8,100 tokens\n" in text
    assert "uses up the budget" not in text
    shown = wfc("plan", "w", "--json", cwd=desk.project, env=desk.env)
    assert json.loads(shown.out)["budget"] == {"tokens": 8100}


def test_a_plan_with_an_unknown_agent_is_wrong_usage(desk: Desk) -> None:
    project(desk)
    refused = wfc("plan", "w", "--agent", "cluade", cwd=desk.project, env=desk.env)
    assert refused.status == 2
    assert "there is no agent `cluade`" in refused.err


def test_the_doctor_starts_each_agent_program(desk: Desk) -> None:
    project(desk)
    program = desk.notes / "agent"
    program.write_text("#!/bin/sh\necho 'agent 1.2.3'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    words = json.dumps([str(program)])
    desk.operator(
        text=f'[stub]\nadapter = "claude"\ncommand = {words}\n[broken]\nadapter = "codex"\ncommand = ["false"]\n'
        '[gone]\nadapter = "gemini"\ncommand = ["no-such-agent"]\n[mine]\nadapter = "command"\ncommand = ["cat"]\n'
    )
    told = wfc("doctor", cwd=desk.project, env=desk.env).out
    assert "`stub` answers: agent 1.2.3" in told
    assert "`false --version` ended with exit code 1" in told
    assert "`gone`: there is no program `no-such-agent`" in told
    assert "`mine` is /" in told
    desk.operator(text="[stub\n")
    assert "agents.toml" in wfc("doctor", cwd=desk.project, env=desk.env).out
    desk.operator(name="other")
    assert "names `stub`" in wfc("doctor", cwd=desk.project, env=desk.env).out
