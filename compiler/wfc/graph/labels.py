"""What stands in and on the nodes and links of a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.graph.words import show, show_condition
from wfc.ir import Edge, Effect, Guard, Ref, State

ON_ERROR = "on error"
_TIP_WIDTH = 140
_UNSAID = ("kind", "instruction", "result", "where", "loop", "step")


def detail_of(state: State, outs: list[Edge]) -> str:
    """The condition of a choice; of other steps the kind, whom or what it involves, and what it writes."""
    effect = state.effect
    if _guard(outs) is not None:
        return show_condition(_condition(state, outs))
    who = _who(effect) if effect else ""
    writes = _writes(effect) if effect else ()
    text = state.kind + (f" {who}" if who else "")
    return text + (f" → {_listed(writes)}" if writes else "")


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 3 else (*names[:2], f"+{len(names) - 2}")
    return show(", ".join(shown), 80)


def badge_of(state: State) -> str:
    retry = state.effect.retry if state.effect else None
    attempts = retry.get("max_attempts") if retry else None
    if not attempts:
        return ""
    return "1 try" if attempts == 1 else f"{attempts} tries"


def link_label(edge: Edge, outs: list[Edge], back: bool) -> str:
    guard = edge.guard
    if edge.event == "recover":
        counted = any(other.guard and other.guard.name == "at_most" for other in outs)
        return "used up" if counted else ON_ERROR
    if guard is None or guard.name == "ok":
        return ""
    if guard.name == "otherwise":
        return "no"
    most = f"at most {guard.at_most}" if guard.at_most is not None else ""
    if guard.name == "when":
        return f"yes, {most}" if most else "yes"
    if back:
        return f"again, {most}" if most else "again"
    return most if guard.at_most != 1 else ""


def tip_of(step: State, state: State, outs: list[Edge]) -> tuple[str, ...]:
    """The whole of a step in a few lines. `state` may be only a part of it."""
    kind = state.kind if step is state else step.kind
    lines = [f"{show(step.title, _TIP_WIDTH)} ({kind}), line {step.line}"]
    if step.note:
        lines.append(show(step.note, _TIP_WIDTH))
    guard = _guard(outs)
    effect = state.effect
    reads = dict.fromkeys((*(effect.reads if effect else ()), *(guard.reads if guard else ())))
    if reads:
        lines.append(f"reads: {show(', '.join(reads), _TIP_WIDTH)}")
    if effect and (writes := _writes(effect)):
        lines.append(f"writes: {show(', '.join(writes), _TIP_WIDTH)}")
    if guard:
        lines.append(f"if: {show(_condition(state, outs), _TIP_WIDTH)}")
    elif effect:
        lines += [f"{key}: {show(value, _TIP_WIDTH)}" for key, value in _arguments(effect)]
    return tuple(lines)


def _guard(outs: list[Edge]) -> Guard | None:
    return next((edge.guard for edge in outs if edge.guard and edge.guard.name == "when"), None)


def _condition(state: State, outs: list[Edge]) -> Any:
    """A choice that keeps its value is made by what it has just kept: the condition is what it keeps."""
    guard = _guard(outs)
    updates = state.effect.arguments.get("updates") if state.effect else None
    if isinstance(updates, dict) and len(updates) == 1:
        return next(iter(updates.values()))
    return guard.text if guard and guard.text is not None else ""


def _who(effect: Effect) -> str:
    """A task, a workflow, a tool, an agent, a kind of answer or a time: whichever the step has."""
    arguments = effect.arguments
    parameters = arguments.get("parameters") or {}
    for value in (
        arguments.get("task"),
        arguments.get("workflow"),
        *map(parameters.get, ("tool", "agent", "prompt_type")),
    ):
        if value:
            return show(value, 60)
    seconds = arguments.get("wait_seconds")
    return f"{show(seconds, 20)} s" if seconds is not None else ""


def _writes(effect: Effect) -> tuple[str, ...]:
    updates = effect.arguments.get("updates")
    names = tuple(updates) if isinstance(updates, dict) else ()
    return (*names, effect.writes) if effect.writes else names


def _arguments(effect: Effect) -> Iterator[tuple[str, Any]]:
    for key, value in effect.arguments.items():
        if value is None or key in _UNSAID or isinstance(value, Ref):
            continue
        if key in ("parameters", "updates") and isinstance(value, dict):
            yield from ((name, item) for name, item in value.items() if item is not None)
        else:
            yield key.replace("_", " "), value
    if effect.retry:
        yield "retry", ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in effect.retry.items())
