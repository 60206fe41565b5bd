"""Answers to steps as the page hands them in: checked first, so that a misfit never counts as an attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wfc_runtime.contract import HUMAN_KINDS, Json
from wfc_runtime.errors import RefusedError, RequestError
from wfc_runtime.results import problems
from wfc_runtime.service import Reply, Service, actions_of

_MOST_NAME = 80


def actor_of(name: object) -> str:
    """Who answered. The name is what the person typed, and nobody has checked it."""
    # Commas separate the name from what the server adds, so a name must not contain one.
    typed = "".join(char for char in str(name or "") if char.isprintable() and char != ",")
    shown = " ".join(typed.split())[:_MOST_NAME]
    return f"person:{shown}, page" if shown else "person, page"


def hand_in(service: Service, run: str, body: Mapping[str, Any]) -> Reply:
    """Submit an answer to the action that the person saw. Raises `RefusedError` with what is wrong with it."""
    step_id, shown = body.get("step_id"), body.get("shown")
    if not isinstance(step_id, str) or not isinstance(shown, str) or "result" not in body:
        raise RequestError("invalid_answer", "an answer needs `step_id`, `shown` and `result`")
    action = _action(service, run, step_id)
    if action is not None:
        _check(action, step_id, body["result"])
    actor = actor_of(body.get("name"))
    if action is not None and action["type"] not in HUMAN_KINDS:
        actor += ", for the agent"
    return service.submit(run, step_id, body["result"], actor=actor, shown=shown)


def _action(service: Service, run: str, step_id: str) -> dict[str, Json] | None:
    """The pending action; None if the step is not pending, which the service explains better."""
    actions = actions_of(service.status(run, masked=True))
    return next((one for one in actions if one["step_id"] == step_id), None)


def _check(action: Mapping[str, Json], step_id: str, result: Json) -> None:
    schema = {key: value for key, value in (action.get("result_schema") or {}).items() if key != "writeOnly"}
    if not schema or (isinstance(result, dict) and set(result) == {"error"}):
        return
    found = problems(result, schema, quoted="writeOnly" not in (action.get("result_schema") or {}))
    if found:
        raise RefusedError("result_misfit", f"the answer to `{step_id}` does not fit: {'; '.join(found)}")
