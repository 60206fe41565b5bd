"""What a workflow needs and what it waits for: tools, agents, commands, people, time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wfc_runtime.contract import Json
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.plan.kinds import StepInfo

Placed = list[tuple[dict[str, Json], StepInfo]]
"""Steps, and where each stands: its id and line, the task and the called workflow that have it."""


def needs_of(placed: Placed) -> dict[str, list[Json]]:
    asks = [(place, step.effect) for place, step in placed if isinstance(step.effect, Ask)]
    spawns = [step.effect for _, step in placed if isinstance(step.effect, Spawn)]
    commands = [
        {**place, "command": ask.parameters["command"]} for place, ask in asks if "command" in ask.parameters
    ]
    agents = [ask.parameters.get("agent") for _, ask in asks] + [
        spawn.agent for spawn in spawns if spawn.agent != "@task"
    ]
    return {
        "tools": distinct([ask.parameters.get("tool") for _, ask in asks]),
        "agents": distinct(agents),
        "workflows": distinct([spawn.workflow for spawn in spawns]),
        "commands": commands,
    }


def distinct(names: Iterable[Json]) -> list[Json]:
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def waits_of(placed: Placed) -> dict[str, list[dict[str, Json]]]:
    ways: dict[str, Callable[[StepInfo], dict[str, Json] | None]] = {
        "person": _asks_person,
        "time": _waits_for_time,
    }
    return {
        name: [{**place, **more} for place, step in placed if (more := details(step)) is not None]
        for name, details in ways.items()
    }


def _asks_person(step: StepInfo) -> dict[str, Json] | None:
    if not isinstance(step.effect, Ask) or step.effect.kind != "prompt":
        return None
    return {"prompt_type": step.effect.parameters.get("prompt_type")}


def _waits_for_time(step: StepInfo) -> dict[str, Json] | None:
    if isinstance(step.effect, Ask) and step.effect.wait_seconds is not None:
        return {"seconds": step.effect.wait_seconds}
    retry = step.effect.retry if step.effect is not None else None
    if retry is not None and retry.delay_seconds and retry.max_attempts > 1:
        return {"seconds": sum(map(retry.delay, range(1, retry.max_attempts))), "before": "retry"}
    return None


def timeouts_of(placed: Placed) -> list[dict[str, Json]]:
    """The longest first."""
    found = [
        {**place, "seconds": step.effect.timeout}
        for place, step in placed
        if isinstance(step.effect, Ask | Spawn) and isinstance(step.effect.timeout, (int, float))
    ]
    return sorted(found, key=lambda one: -one["seconds"])
