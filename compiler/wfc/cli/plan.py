"""`wfc plan`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from wfc.cli.shared.names import WORKFLOWS
from wfc.cli.shared.output import to_json
from wfc.cli.shared.stdin import stdin_option
from wfc.cli.shared.workflow import compile_in_memory, find_workflow_or_stdin, print_errors, written_condition
from wfc.ir import FINISHED, Vertex
from wfc.render.style import Style, printable, style_for
from wfc_runtime.claude_code import find_missing
from wfc_runtime.errors import RequestError

_SHOWN = 100
"""The number of characters of a command or condition that are shown."""

Plan = dict[str, Any]


@click.command("plan")
@click.argument("workflow", shell_complete=WORKFLOWS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--agent",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Also show what `wfc run --agent NAME` needs: programs, models, tools, prompts to answer, least price.",
)
@stdin_option
def command(workflow: str, as_json: bool, agent: str | None, stdin_filename: Path | None) -> int:
    """Show the actions that a run of a workflow can ask for and the tools that it needs.

    WORKFLOW is the name of a workflow of the project, a file, or `-` for standard input. Shows the minimum and
    maximum number of actions of a run (including retries, loops and items), the tools, agents and commands that it
    needs, the steps that wait for a person or for time, and its steps and branches. An action is a unit of work that
    the run waits for: a shell command, a tool call, a delegated task or a prompt. Exits with 1 and prints the
    findings if the workflow, or one that it calls, has an error.
    """
    file = find_workflow_or_stdin(workflow, stdin_filename)
    files = file.project.with_called(file)
    if print_errors(files) or file.name is None:
        return 1
    from wfc_runtime.plan import explain_plan

    modules = {name: module.workflow for name, module in compile_in_memory(files).items()}
    plan = {**explain_plan(modules[file.name], modules.get), "source": file.source.path}
    if budget := modules[file.name].machine.budget:
        plan["budget"] = dict(budget)
    needs, config = plan["needs"], file.config
    missing = find_missing(needs.get("agents", ()), needs.get("tools", ()), config.root, config.tools)
    if missing:
        plan["missing"] = asdict(missing)
    if agent is not None:
        from wfc.cli.plan_agents import agent_plan, agents_of

        try:
            plan["agent"] = agent_plan(modules[file.name], modules.get, agents_of(agent, config))
        except RequestError as error:
            raise click.UsageError(str(error)) from None
    # A plan is made from the machine, which has the conditions in another notation.
    if file.parsed and file.parsed.graph:
        _use_written_conditions(plan, file.parsed.graph)
    if as_json:
        click.echo(to_json(plan))
    else:
        click.echo(render_plan(plan, style_for(sys.stdout)), nl=False)
    return 0


def _use_written_conditions(plan: Plan, graph: Mapping[str, Vertex]) -> None:
    """Show when a block runs in the words of its file."""
    for step in plan["steps"]:
        if "when" in step and step["id"] in graph:
            step["when"] = written_condition(graph[step["id"]])
    for branch in plan["branches"]:
        if branch["kind"] == "when" and branch["step"] in graph:
            branch["if"] = written_condition(graph[branch["step"]])


def render_plan(plan: Plan, style: Style) -> str:
    title = style.paint(f"{plan['workflow']} {_line(plan['version'])}", "bold")
    lines = [f"{title}  {plan['source']}", "", *_rows(_summary(plan), style), ""]
    for name, scope in {"steps": plan, **plan.get("tasks", {})}.items():
        lines += list(
            _scope(name if scope is plan else f"task {name}: {_asked(scope['actions'])}", scope, style)
        )
    return "\n".join(lines).rstrip() + "\n"


def _rows(rows: Iterator[tuple[str, str]], style: Style) -> Iterator[str]:
    before = ""
    for label, text in rows:
        # A label is printed once for the rows below it.
        shown = "" if label == before else label
        before = label
        yield f"{style.paint(f'{shown:<10}', 'cyan')}{text}".rstrip()


# -- sums --------------------------------------------------------------------


def _summary(plan: Plan) -> Iterator[tuple[str, str]]:
    yield "actions", _asked(plan["actions"])
    yield from (("actions", text) for text in _beyond(plan["actions"]))
    budget = plan.get("budget", {})
    if budget:
        yield "budget", ", ".join(_limit(kind, most) for kind, most in budget.items())
    for place in plan["waits"]["person"]:
        yield "person", f"{_place(place)}  {place['prompt_type']}"
    for place in plan["waits"]["time"]:
        before = " in total between attempts" if place.get("before") == "retry" else ""
        known = _seconds(place["seconds"]) if "seconds" in place else "computed"
        yield "time", f"{_place(place)}  {known}{before}"
    yield from (("timeouts", text) for text in _timeouts(plan["timeouts"]))
    needs = plan["needs"]
    for name in ("tools", "agents", "workflows"):
        if name in needs:
            yield name, ", ".join(needs[name])
    missing = plan.get("missing", {})
    if missing.get("agents"):
        yield "missing", f"{', '.join(missing['agents'])}: no such agent in .claude/agents"
    if missing.get("tools"):
        yield "missing", f"{', '.join(missing['tools'])}: not in `tools` of [tool.wfc]"
    if "agent" in plan:
        from wfc.cli.plan_agents import rows_of

        yield from rows_of(plan["agent"], _place, _range)
        if (plan["agent"]["fixed_tokens"]["least"] or 0) > budget.get("tokens", math.inf):
            yield "tokens", "every run uses up the budget of tokens: even the least is more"
    width = max((len(_place(one)) for one in needs.get("commands", ())), default=0)
    for one in needs.get("commands", ()):
        yield "commands", f"{_place(one):<{width}}  {_line(one['command'])}"


def _limit(kind: str, most: float) -> str:
    if kind == "seconds":
        return _seconds(most)
    return f"{most:g} USD" if kind == "usd" else f"{most:,.0f} {kind}"


def _asked(actions: Plan) -> str:
    least, most = actions["least"], actions["most"]
    if least is None:
        return "no run can complete"
    if most is None:
        return f"at least {least}, with no limit"
    return _range(least, most)


def _range(least: int | None, most: int | None) -> str:
    if most is None:
        return f"{least or 0} or more"
    return str(most) if least == most else f"{least or 0} to {most}"


def _beyond(actions: Plan) -> Iterator[str]:
    for one in actions.get("per_item", ()):
        yield f"and {_range(one['least'], one['most'])} for each item of {one['step']}, each time it runs"
    for one in actions.get("unbounded", ()):
        if by := ", ".join(one["on_error_of"]):
            yield f"no limit: each time {by} fails, on_error jumps back"
        else:
            yield f"no limit: {one['steps'][0]} repeats its steps for each item of a list"
    for name in actions.get("not_counted", ()):
        yield f"and those of {name}, which does not exist and is not counted"


def _timeouts(timeouts: list[Plan]) -> Iterator[str]:
    """Steps by their timeout, the longest three."""
    found: dict[float, list[str]] = {}
    for one in timeouts:
        found.setdefault(one["seconds"], []).append(one["step"])
    for seconds, steps in list(found.items())[:3]:
        more = f" and {len(steps) - 4} more" if len(steps) > 4 else ""
        yield f"{_seconds(seconds):<7} {', '.join(steps[:4])}{more}"


# -- step by step ------------------------------------------------------------


def _scope(title: str, scope: Plan, style: Style) -> Iterator[str]:
    yield style.paint(title, "bold")
    branches: dict[str, list[Plan]] = {}
    for branch in scope["branches"]:
        branches.setdefault(branch["step"], []).append(branch)
    steps = scope["steps"]
    widths = [max((len(str(step[key])) for step in steps), default=0) for key in ("line", "id", "type")]
    for step in steps:
        line, name, kind = (
            f"{step[key]:>{width}}" if key == "line" else f"{step[key]:<{width}}"
            for key, width in zip(("line", "id", "type"), widths, strict=True)
        )
        yield f"  {line}  {name}  {style.paint(kind, 'cyan')}  {'; '.join(_details(step))}".rstrip()
        for branch in branches.get(step["id"], ()):
            yield f"  {'':>{widths[0]}}    {_branch(branch)}"
    yield ""


def _details(step: Plan) -> Iterator[str]:
    if "task" in step or "workflow" in step:
        most = f", at most {step['max_items']}" if "max_items" in step else ""
        agent = f" by {step['agent']}" if "agent" in step else ""
        yield f"{step.get('task') or step.get('workflow')}{agent}{most}"
    if "wait_seconds" in step:
        yield _seconds(step["wait_seconds"])
    if "attempts" in step:
        yield f"up to {step['attempts']} attempts"
    if "reads" in step:
        yield f"reads {', '.join(step['reads'])}"
    if "writes" in step:
        yield f"writes {', '.join(step['writes'])}"


def _branch(branch: Plan) -> str:
    onward, other = _target(branch["then"]), _target(branch.get("else"))
    most = f", at most {_times(branch['at_most'])}" if "at_most" in branch else ""
    if branch["kind"] == "on_error":
        return f"if it fails -> {onward}"
    if branch["kind"] == "each":
        return f"for each item -> {onward}{most}, then -> {other}"
    if branch["kind"] == "goto":
        return f"-> {onward}{most}" + (f", then -> {other}" if other else ", then it fails")
    condition = branch["if"] if isinstance(branch["if"], str) else str(branch["if"]).lower()
    return f"if {_line(condition)} -> {onward}{most}" + (f", else -> {other}" if other else "")


def _target(name: str | None) -> str | None:
    return "the end" if name == FINISHED else name


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _place(place: Plan) -> str:
    called = f"{place['workflow']}: " if "workflow" in place else ""
    return f"{called}{place['step']}:{place['line']}"


def _line(text: Any) -> str:
    line = printable(" ".join(str(text).split()))
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _seconds(seconds: float) -> str:
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size:g} {unit}"
    return f"{seconds:g} s"
