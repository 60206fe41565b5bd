"""Replies: one shape for every call that moves a run or asks about it, with the next call at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType

from wfc_runtime.contract import Json
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Action
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.machine.step import NO_REASON
from wfc_runtime.service import texts
from wfc_runtime.service.interface import Reply

_NOTHING: Mapping[str, float] = MappingProxyType({})


_ADVICE = "`on_error` and `retry` on a step say what to do when it fails."


@dataclass(frozen=True)
class Subject:
    """The run that a reply is about."""

    id: str
    agent: str | None = None
    is_child: bool = False
    place: str = ""
    """Where in the YAML a failed run failed."""
    advice: str = ""
    """What the workflow has to say about that."""


def pending_reply(
    subject: Subject,
    machine: AnyMachine,
    pending: Mapping[str, Pending],
    at: float,
    claimed: Mapping[str, float] = _NOTHING,
) -> Reply:
    """What the run waits for, as of the moment `at`. What a server is doing, since when, is nobody else's."""
    served = {visit: one for visit, one in pending.items() if visit in claimed}
    pending = {visit: one for visit, one in pending.items() if visit not in claimed}
    found = {visit: machine.steps[one.state].action(one) for visit, one in pending.items()}
    actions = [_action(visit, action, pending[visit], at) for visit, action in found.items()]
    for action, one in zip(actions, pending.values(), strict=True):
        if machine.steps[one.state].writes in machine.secrets:
            # A client must not show or keep it either.
            action["result_schema"] = {**action.get("result_schema", {}), "writeOnly": True}
    shown: Reply = {"action": actions[0]} if len(actions) == 1 else {"actions": actions}
    return {
        "workflow_id": subject.id,
        "status": "pending_action" if actions else "running",
        **(shown if actions else {}),
        **({"running": [_served(machine, *one, claimed, at) for one in served.items()]} if served else {}),
        "next": _next(subject, found),
    }


def _served(
    machine: AnyMachine, visit: str, pending: Pending, claimed: Mapping[str, float], at: float
) -> dict[str, Json]:
    kind = machine.steps[pending.state].action(pending).type
    return {"step_id": visit, "type": kind, "seconds": round(max(0.0, at - claimed[visit]), 1)}


def ended_reply(subject: Subject, snapshot: Snapshot) -> Reply:
    reply: Reply = {"workflow_id": subject.id, "status": snapshot.status}
    error = snapshot.error or {}
    if snapshot.status == "completed":
        reply["result"] = snapshot.result
    elif snapshot.status == "failed":
        reply["error"] = {**error, "hint": _failure_hint(error, subject)}
    else:
        return cancelled_reply(subject, error.get("message", ""))
    return {**reply, "next": _after_end(subject, snapshot.status)}


def cancelled_reply(subject: Subject, reason: str) -> Reply:
    following = _after_end(subject, "cancelled")
    return {
        "workflow_id": subject.id,
        "status": "cancelled",
        "reason": reason or NO_REASON,
        "next": following,
    }


def reply_of(
    subject: Subject,
    machine: AnyMachine,
    snapshot: Snapshot,
    at: float,
    claimed: Mapping[str, float] = _NOTHING,
) -> Reply:
    if snapshot.status == "running":
        return pending_reply(subject, machine, snapshot.pending, at, claimed)
    return ended_reply(subject, snapshot)


def shown_pending(pending: Mapping[str, Pending]) -> dict[str, Json]:
    """As much of what is pending as it takes to give the same reply again."""
    return {visit: _shown(one).to_data() for visit, one in pending.items()}


def _shown(pending: Pending) -> Pending:
    shown = pending.copy()
    shown.misfits, shown.inputs, shown.deadline = 0, None, None
    if pending.items is not None:
        live = [child is not None and "run" in child for child in pending.children]
        shown.items = [item if alive else None for item, alive in zip(pending.items, live, strict=True)]
        # What has ended is shown as ended, without what it brought.
        shown.children = [
            child if alive else child and {} for child, alive in zip(pending.children, live, strict=True)
        ]
    return shown


def _action(visit: str, action: Action, pending: Pending, at: float) -> dict[str, Json]:
    parameters, instruction = dict(action.parameters), action.instruction
    children = parameters.get("children")
    if action.type == "call":
        instruction = texts.call_instruction(parameters["workflow"])
    elif children is not None:
        queued = sum(1 for child in pending.children if child is None)
        agent = parameters["agent"]
        instruction = texts.foreach_instruction(agent, parameters["sequential"], len(children), queued)
        parameters["children"] = [_child(child, parameters["task"], agent) for child in children]
        if queued:
            parameters["queued"] = queued
    if pending.resume_at is not None:
        parameters["seconds_left"] = max(0, ceil(pending.resume_at - at))
    shown: dict[str, Json] = {
        "step_id": visit,
        "type": action.type,
        "parameters": parameters,
        "instruction": instruction,
    }
    if action.result_schema and pending.resume_at is None:
        shown["result_schema"] = action.result_schema
    return shown


def _child(child: dict[str, Json], task: str, agent: str | None) -> dict[str, Json]:
    shown = {**child, "item": texts.shown_item(child["item"])}
    if agent is not None:
        shown["prompt"] = texts.child_prompt(child["workflow_id"], task, child["item"])
    return shown


# -- what to do next -------------------------------------------------------------


def _next(subject: Subject, actions: Mapping[str, Action]) -> str:
    """What can be answered comes first, then the children to work, then what is only waited for."""
    parameters = [action.parameters for action in actions.values()]
    names = [
        f'"{visit}"'
        for visit, action in actions.items()
        if not {"children", "resume_at"} & set(action.parameters)
    ]
    if names:
        return _submit(
            subject, names[0] if len(names) == 1 else f"<each of {', '.join(names)}, in any order>"
        )
    for one in parameters:
        if one.get("children") and one.get("agent") is None:
            return f'get_next_step(workflow_id="{one["children"][0]["workflow_id"]}")'
    if any("children" in one for one in parameters):
        return f"{_look(subject)} when the sub-agents have ended"
    times = [one["resume_at"] for one in parameters]
    return f"{_look(subject)} after {min(times)}" if times else _look(subject)


def _submit(subject: Subject, visit: str) -> str:
    tool = "submit_step_result" if subject.is_child else "submit_result"
    return f'{tool}(workflow_id="{subject.id}", step_id={visit}, result=<as the action says>)'


def _look(subject: Subject) -> str:
    tool = "get_next_step" if subject.is_child else "get_workflow_status"
    return f'{tool}(workflow_id="{subject.id}")'


def _after_end(subject: Subject, status: str) -> str:
    if not subject.is_child:
        return f"nothing: the run is {status}"
    if subject.agent is not None:
        return f"nothing: the task is {status}; end here"
    return "get_workflow_status(workflow_id=<the run whose action listed this one>)"


def _failure_hint(error: Mapping[str, Json], subject: Subject) -> str:
    hint = str(error.get("hint") or subject.advice or _ADVICE)
    return f"{hint} See {subject.place}." if subject.place else hint
