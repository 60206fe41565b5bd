"""A run as a mermaid chart: its statechart, with the states it is in now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from statemachine import State

from wfc_runtime.machine import Delay
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.guards import Condition

_LONGEST = 60
_ENDINGS = ("fail", "cancel")


def render_chart(machine: AnyMachine, active: list[str]) -> str:
    """The chart of one machine. `active`: the states that a run of it is in."""
    lines = ["stateDiagram-v2", *_inside(machine, list(machine.states), "  ")]
    now = [state.id for state in _shown(machine, active)]
    if now:
        lines += ["  classDef now stroke-width:4px", f"  class {','.join(now)} now"]
    return "\n".join(lines) + "\n"


def _shown(machine: AnyMachine, active: list[str]) -> Iterator[State]:
    """The innermost states. A pause before another try stands for the step that is tried again."""
    for state in machine.states_map.values():
        if state.id in active and state.is_atomic:
            effect = machine.steps.get(state.id)
            yield machine.states_map[effect.step] if isinstance(effect, Delay) else state


def _inside(machine: AnyMachine, states: list[State], indent: str) -> Iterator[str]:
    for state in states:
        if isinstance(machine.steps.get(state.id), Delay):
            continue
        yield f'{indent}state "{_quoted(state.name)}" as {state.id}'
        if state.states:
            yield f"{indent}state {state.id} {{"
            for number, branch in enumerate(_branches(state)):
                if number:
                    yield f"{indent}  --"
                yield from _inside(machine, branch, f"{indent}  ")
            yield f"{indent}}}"
    for state in states:
        if state.initial:
            yield f"{indent}[*] --> {state.id}"
        yield from _ways(machine, state, indent)
        if state.final:
            yield f"{indent}{state.id} --> [*]"


def _branches(state: State) -> list[list[State]]:
    inner = list(state.states)
    return [[one] for one in inner] if state.parallel else [inner]


def _ways(machine: AnyMachine, state: State, indent: str) -> Iterator[str]:
    """Retries, failing and cancelling are possible everywhere and would hide the rest."""
    for transition in state.transitions:
        target = transition.target
        hidden = isinstance(machine.steps.get(target.id), Delay) if target is not None else True
        if target is None or hidden or transition.initial or any(transition.match(name) for name in _ENDINGS):
            continue
        if isinstance(machine.steps.get(state.id), Delay):
            continue
        label = _label(transition)
        yield f"{indent}{state.id} --> {target.id}" + (f": {label}" if label else "")


def _label(transition: Any) -> str:
    owners = [getattr(spec.func, "__self__", None) for spec in transition.cond]
    condition = next((owner for owner in owners if isinstance(owner, Condition)), None)
    if transition.match("recover"):
        return "on error"
    if condition is None:
        return ""
    most = f" (at most {condition.most})" if condition.most is not None else ""
    return f"{'' if condition.text is True else _plain(str(condition.text))}{most}".strip()


def _plain(text: str) -> str:
    """An expression without its braces; what mermaid would take for syntax as character codes."""
    bare = re.sub(r"\s+", " ", text.strip().removeprefix("{{").removesuffix("}}")).strip()
    short = bare if len(bare) <= _LONGEST else f"{bare[:_LONGEST]}..."
    return re.sub(r"[:;{}<>#\"]", lambda found: f"#{ord(found[0])};", short)


def _quoted(name: str) -> str:
    return name.replace('"', "'")
