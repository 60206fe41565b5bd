"""Error handling of steps: retries, fallbacks, what is written when a step fails."""

from __future__ import annotations

from wfc.dialects.base import made
from wfc.dialects.reactive.build import mapping
from wfc.dialects.reactive.kinds import Handling, ReactiveStep
from wfc.yaml import Node, Span

RETRIES = 3
"""The number of retries where `retry` says no number."""


def handling(step: ReactiveStep, otherwise: str = "") -> dict[str, Node | str | None]:
    """The fields of the core's step for `on_error` and `error_handling`; `otherwise` is the workflow's own handling."""
    inner: Handling | None = step.values.get("error_handling")
    outer = step.values.get("on_error")
    strategy = inner.setting("strategy") if inner else outer.text if outer else otherwise
    at = step.key_span("error_handling" if inner else "on_error")
    found: dict[str, Node | str | None] = {}
    retries = _number(step, inner, "retry_count", "max_retries")
    if strategy == "retry" or (retries and strategy != "continue"):
        found["retry"] = _retry(step, inner, retries if retries is not None else RETRIES, at)
    if strategy == "continue":
        found["on_error"] = made("continue", at)
    fallback = step.values.get("fallback_value") or (inner.fallback_value if inner else None)
    if fallback is not None:
        found["fallback"] = fallback.node
    elif strategy == "fallback":
        found["fallback"] = made(None, at)
    return found


def _retry(step: ReactiveStep, inner: Handling | None, retries: int, at: Span) -> Node:
    delay = _number(step, inner, "retry_delay") or 0
    return mapping(at, max_attempts=retries + 1, delay_seconds=_whole(delay / 1000) if delay else None)


def _whole(number: float) -> float | int:
    return int(number) if number == int(number) else number


def _number(step: ReactiveStep, inner: Handling | None, *names: str) -> int | None:
    """A number of the mapping `error_handling`, or of the step itself."""
    given = [inner.values.get(name) for name in names] if inner else []
    found = next((value for value in (*given, step.values.get(names[0])) if value is not None), None)
    return int(found.value) if found is not None else None
