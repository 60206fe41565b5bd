"""`wfc plan --agent`: which program does which step, the prompts to answer, and the least price of the calls."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from wfc.config import Config
from wfc_runtime.agents.settings import (
    Agents,
    Role,
    Wishes,
    load_programs,
    operator_file,
)
from wfc_runtime.machine.chart import Workflow
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.plan.counting import Counter, Lookup
from wfc_runtime.plan.explain import everything, shown_count


def agents_of(name: str, config: Config) -> Agents:
    """The operator's programs, with the names that the project gives them. `name`: the program of `--agent`, or empty
    for the project's default."""
    settings = dict(config.agents or {})
    roles = {role: Role(**about) for role, about in settings.pop("roles", {}).items()}
    wishes = Wishes(**settings, roles=roles)
    chosen = name or wishes.default
    if not chosen:
        raise click.UsageError("--agent needs a name, such as `claude`, or a default in [tool.wfc.agents]")
    programs = load_programs(operator_file(os.environ), config.root, "WFC_AGENTS" in os.environ)
    return Agents(programs, chosen, wishes)


def agent_plan(workflow: Workflow, lookup: Lookup, agents: Agents) -> dict[str, Any]:
    """The requirements of a run with this agent. Raises `AgentSettingsError` for a model or program that nobody
    knows."""
    steps: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for place, step in everything(workflow, lookup):
        effect = step.effect
        if isinstance(effect, Ask) and effect.kind == "prompt":
            answers.append({**place, "prompt_type": effect.parameters.get("prompt_type")})
        elif (isinstance(effect, Ask) and effect.kind in _TOLD) or (
            isinstance(effect, Spawn) and _is_brief(effect)
        ):
            steps.append({**place, **_work(effect, agents)})
    counts = {"calls": _calls(agents), "fixed_tokens": _tokens(agents)}
    found: dict[str, Any] = {"program": agents.chosen, "steps": steps, "answers": answers}
    for name, weigh in counts.items():
        found[name] = shown_count(Counter(workflow, lookup, weigh=weigh).main())
    return found


_TOLD = ("delegate", "mcp_call", "shell")


def _is_brief(effect: Spawn) -> bool:
    return effect.agent not in (None, "@task")


def _work(effect: Ask | Spawn, agents: Agents) -> dict[str, Any]:
    """Who does a step, or why no agent does."""
    kind = effect.kind if isinstance(effect, Ask) else "delegate"
    named = effect.parameters.get("agent") if isinstance(effect, Ask) else effect.agent
    wishes: Any = (
        effect.parameters if isinstance(effect, Ask) else {"model": effect.model, "tools": effect.tools}
    )
    found = agents.assigned(named, wishes.get("model"))
    program = found.program
    if kind not in program.steps:
        return {"why_not": f"`{program.name}` does no {kind} steps"}
    tools, _ = program.tools_for(wishes.get("tools"))
    why_not = "" if tools is None else program.adapter.unenforced(tools)
    if why_not:
        return {"why_not": why_not}
    about = {"program": program.name, "agent": found.agent, "model": found.model}
    return {
        **{name: value for name, value in about.items() if value},
        **({} if tools is None else {"tools": list(tools)}),
    }


def _calls(agents: Agents) -> Any:
    def weigh(effect: Ask | None) -> float:
        if effect is None:
            return 1
        is_agents = effect.kind in _TOLD and "why_not" not in _work(effect, agents)
        return 1 if is_agents else 0

    return weigh


def _tokens(agents: Agents) -> Any:
    calls = _calls(agents)

    def weigh(effect: Ask | None) -> float:
        if not calls(effect):
            return 0
        parameters = effect.parameters if effect is not None else {}
        program = agents.assigned(parameters.get("agent")).program
        tools, _ = program.tools_for(parameters.get("tools"))
        return program.adapter.fixed_tokens(tools)

    return weigh


def rows_of(plan: dict[str, Any], place_of: Any, range_of: Any) -> Iterator[tuple[str, str]]:
    """The plan of the agent as lines, each with a label."""
    for one in plan["steps"]:
        if "why_not" in one:
            yield "agent", f"{place_of(one)}  nobody: {one['why_not']}"
            continue
        more = [f"{name} {one[name]}" for name in ("agent", "model") if name in one]
        more += [f"tools {', '.join(one['tools']) or 'none'}"] if "tools" in one else []
        yield "agent", f"{place_of(one)}  {', '.join([one['program'], *more])}"
    for one in plan["answers"]:
        yield "answer", f"{place_of(one)}  --answer {one['step']}=<{one['prompt_type']}>"
    calls, tokens = plan["calls"], plan["fixed_tokens"]
    yield "calls", range_of(calls["least"], calls["most"])
    if tokens["least"] or tokens["most"]:
        yield (
            "tokens",
            f"about {range_of(tokens['least'], tokens['most'])} before any work (the fixed part of each call)",
        )
