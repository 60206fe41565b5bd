"""Previews: the consequences of an answer or a migration. Machines are pure, so both are computed without changing the
run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.events import Submit
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import step
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Module
from wfc_runtime.service.children import machine_of, missing_steps
from wfc_runtime.service.interface import Reply
from wfc_runtime.store import RunRow

MOST_ANSWERS = 12
"""Answers that are previewed. A choice among more is shown without."""


# Answers to a gate.


def preview_reply(
    run: str, machine: AnyMachine, now: Snapshot, visit: str, at: float, limits: Limits
) -> Reply:
    """The consequence of each answer to a yes-or-no question or to a choice; empty for every other action."""
    pending = now.pending.get(visit)
    if pending is None:
        raise RefusedError("not_pending", f"`{visit[:200]}` is not pending in run {run}")
    effect = machine.steps[pending.state]
    # From the schema, so that a question about a budget is previewed as well.
    answers = _answers(effect.schema(pending)) if isinstance(effect, Ask) else []
    found = [{"result": one, **_after(machine, now, visit, one, at, limits)} for one in answers]
    return {"workflow_id": run, "step_id": visit, "answers": found}


def _answers(schema: Json) -> list[dict[str, Json]]:
    """All answers that a schema accepts, if they can be listed."""
    properties: Mapping[str, Any] = (schema or {}).get("properties", {})
    # Two properties would have to be combined, and free text can't be listed.
    if len(properties) != 1:
        return []
    [(name, one)] = properties.items()
    # A constant has a single answer, so there is nothing to compare.
    values = [True, False] if one.get("type") == "boolean" and "const" not in one else one.get("enum", [])
    return [{name: value} for value in values] if len(values) <= MOST_ANSWERS else []


def _after(
    machine: AnyMachine, now: Snapshot, visit: str, result: Json, at: float, limits: Limits
) -> dict[str, Json]:
    """The status of the run after an answer, and the steps that it would then wait in."""
    try:
        # The machine is pure: the outcome is dropped, and the id is never stored.
        outcome = step(machine, now, Submit(at=at, id="preview", visit=visit, result=result), limits)
    except WfcError as error:
        return {"status": "refused", "message": now.mask.message(error.message)}
    then = outcome.snapshot
    if then.status == "failed":
        why = str((then.error or {}).get("message", ""))
        return {"status": "failed", "message": now.mask.message(why)}
    if then.status != "running":
        return {"status": then.status}
    # Actions that were pending before stay pending, and are not a consequence of the answer.
    following: list[Json] = [one for one in then.pending if one not in now.pending]
    return {"status": "pending_action", "next": following}


# A migration to the current version.


def migration_reply(row: RunRow, now: Snapshot, was: Module, current: Module) -> Reply:
    """The differences between a run's version and the current one, and those that prevent the migration."""
    reply: Reply = {
        "workflow_id": row.id,
        "from": {"version": was.workflow.version, "digest": was.digest},
        "to": {"version": current.workflow.version, "digest": current.digest},
    }
    if was.digest == current.digest:
        return {**reply, "is_current": True}
    gone = list(dict.fromkeys(missing_steps(current, row, now, was)))
    return {**reply, **_differences(was, current, row), "blocked_by": gone}


def _differences(was: Module, current: Module, row: RunRow) -> dict[str, Json]:
    # The task was removed, so every step would be listed as removed; `blocked_by` has the relevant part.
    if row.task is not None and row.task not in current.workflow.tasks:
        return {"added": [], "removed": [], "changed": []}
    old, new = (_steps(machine_of(one, row.task, row.agent)) for one in (was, current))
    return {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }


def _steps(machine: AnyMachine) -> dict[str, list[Any]]:
    """The effects of each step of a machine, by its name in the source."""
    found: dict[str, list[Any]] = {}
    for node in structure_of(machine).nodes.values():
        effect = machine.steps.get(node.id)
        if effect is not None:
            # Several states can belong to one step, such as those of a loop.
            found.setdefault(node.name, []).append(effect)
    return found
