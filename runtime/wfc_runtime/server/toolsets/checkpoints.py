"""The checkpoint tools of the debug set.

Every event of a run is durable, so every event is a checkpoint, and nothing has to be saved for a run to continue:
`<workflow_id>:<event>` names the state of a run after an event.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError
from wfc_runtime.server.tools import READS, Call, Hints, Tool
from wfc_runtime.service import Archive, Reply, Service, actions_of
from wfc_runtime.service.history import STILL
from wfc_runtime.service.ids import check_run_id

# Checkpoints.

_ID = re.compile(r"(.+):([0-9]{1,12})")
_PAGE = 500
_MOST_DAYS = 1_000_000
_ANSWERED = ("submitted", "interrupted", "child_ended")
_YES, _NO = ("yes", "y", "true", "1", "ok", "confirm"), ("no", "n", "false", "0", "cancel")


def read_id(checkpoint_id: str) -> tuple[str, int]:
    found = _ID.fullmatch(checkpoint_id)
    if found is None:
        raise RequestError(
            "invalid_id",
            f"`checkpoint_id` is not a checkpoint id: {checkpoint_id[:60]!r}",
            "list_checkpoints() shows the ids.",
        )
    return check_run_id(found[1]), int(found[2])


def listed(service: Service, workflow: str, run: str, limit: int) -> list[Reply]:
    """The latest checkpoint of every open run; with a run, each of its checkpoints."""
    if run:
        events = service.history(run, limit=limit)["events"]
        return [_event(run, event) for event in events]
    runs = [
        one
        for one in service.runs("open", limit=_PAGE)["runs"]
        if not workflow or one["workflow"] == workflow
    ]
    return [_latest(service, one) for one in runs[:limit]]


def _event(run: str, event: dict[str, Any]) -> Reply:
    kept = {key: value for key, value in event.items() if key in ("at", "event", "step_id", "reason")}
    return {"checkpoint_id": f"{run}:{event['seq']}", **kept}


def _latest(service: Service, run: dict[str, Json]) -> Reply:
    # Masked: this call only reads, so it must not reveal secrets or start actions.
    now = service.status(run["workflow_id"], masked=True)
    return {
        "checkpoint_id": f"{run['workflow_id']}:{now['progress']['events']}",
        "workflow_id": run["workflow_id"],
        "workflow": run["workflow"],
        "at": run["updated"],
        "paused": now["status"] == "pending_action",
        "waits_in": run.get("pending", []),
        **_prompt(service, now),
    }


def _prompt(service: Service, now: Reply) -> Reply:
    """The question of a run, or of a workflow that it called."""
    asked = _question(lambda run: service.status(run, masked=True), now)
    if asked is None:
        return {}
    parameters = asked[1]["parameters"]
    return {"prompt": parameters["message"] if "message" in parameters else parameters["instructions"]}


def about(service: Service, checkpoint_id: str) -> Reply:
    run, seq = read_id(checkpoint_id)
    now = service.status(run, masked=True)
    latest = now["progress"]["events"]
    events = list(_events(service, run, seq))
    if not events or events[-1]["seq"] != seq:
        raise NotFoundError(
            "unknown_checkpoint", f"run {run} has no event {seq}", f"Its latest is `{run}:{latest}`."
        )
    done = [event["step_id"] for event in events if event["event"] in _ANSWERED and "step_id" in event]
    is_latest = _is_current(service, run, seq, latest)
    fields = list(dict.fromkeys(name for event in events for name in event.get("written", {})))
    return {
        **_event(run, events[-1]),
        "workflow_id": run,
        "workflow": now["workflow"],
        "inputs": events[0].get("inputs", {}),
        "completed_steps": done,
        "fields": fields,
        "is_latest": is_latest,
        **(
            {
                "status": now["status"],
                "waits_in": [one["step_id"] for one in actions_of(now)],
                **_prompt(service, now),
            }
            if is_latest
            else {}
        ),
    }


def _events(service: Service, run: str, until: int) -> Iterator[dict[str, Any]]:
    after = 0
    while after < until:
        page = service.history(run, after=after, limit=min(_PAGE, until - after))["events"]
        if not page:
            return
        yield from page
        after = page[-1]["seq"]


def _is_current(service: Service, run: str, seq: int, latest: int) -> bool:
    """Whether the run has not moved since an event. Marks and journal entries move nothing."""
    while seq < latest:
        later = service.history(run, after=seq, limit=_PAGE)["events"]
        if not later or any(event["event"] not in STILL for event in later):
            return False
        seq = later[-1]["seq"]
    return seq == latest


# -- resuming ------------------------------------------------------------------------


def resume(service: Service, checkpoint_id: str, response: str, actor: str | None) -> Reply:
    """Continue a run from its latest checkpoint; with the answer to its question, if one is given."""
    run, seq = read_id(checkpoint_id)
    latest = service.status(run, masked=True)["progress"]["events"]
    if not _is_current(service, run, seq, latest):
        raise RefusedError(
            "checkpoint_passed",
            f"run {run} has continued since {checkpoint_id}",
            next_call=f'resume_workflow(checkpoint_id="{run}:{latest}", response=...)',
        )
    reply = service.next_step(run)
    if not response:
        return reply
    asked = _question(service.next_step, reply)
    if asked is None:
        raise RefusedError(
            "no_question",
            f"run {run} has no pending question that a text could answer",
            next_call=reply["next"],
        )
    holder, action = asked
    answered = service.submit(holder, action["step_id"], _answer(action, response), actor=actor)
    # The caller asked about this run, even if the answer was for a workflow that it called.
    return answered if holder == run else service.next_step(run)


def _question(look: Callable[[str], Reply], reply: Reply) -> tuple[str, dict[str, Any]] | None:
    """The first pending question, in the run or in the workflows that it called."""
    for action in actions_of(reply):
        if action["type"] == "prompt" or (action["type"] == "delegate" and _takes_text(action)):
            return reply["workflow_id"], action
        for child in action["parameters"].get("children", ()):
            found = _question(look, look(child["workflow_id"]))
            if found is not None:
                return found
    return None


def _takes_text(action: dict[str, Any]) -> bool:
    """Whether the result is a text, as that of a Prompt block."""
    schema = action.get("result_schema") or {}
    required = schema.get("required", [])
    return len(required) == 1 and schema.get("properties", {}).get(required[0], {}).get("type") == "string"


def _answer(action: dict[str, Any], response: str) -> Json:
    """Convert a text into the result that an action expects."""
    schema = action.get("result_schema") or {}
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if len(required) != 1:
        try:
            return json.loads(response)
        except ValueError:
            return response
    [name] = required
    if properties.get(name, {}).get("type") != "boolean":
        return {name: response}
    word = response.strip().lower().rstrip(".!")
    if word not in (*_YES, *_NO):
        raise RequestError("invalid_response", f"`response` must be yes or no, not {response[:60]!r}")
    return {name: word in _YES}


# -- deleting ------------------------------------------------------------------------


def keeper(service: Service) -> Archive:
    if not isinstance(service, Archive):
        raise RequestError("not_supported", "the engine of this server can't delete runs")
    return service


def delete(service: Service, checkpoint_id: str, actor: str | None) -> int:
    """Delete a run. Without its checkpoints it can't continue, so an open run is cancelled first."""
    run, _ = read_id(checkpoint_id)
    keep = keeper(service)
    try:
        return keep.erase(run)
    except RefusedError as refused:
        if refused.code != "open_run":
            raise
    service.cancel(run, "its checkpoint was deleted", actor=actor)
    return keep.erase(run)


def clean_up(service: Service, days: int) -> int:
    """Delete the runs that ended at least this many days ago."""
    keep = keeper(service)
    old = keep.ended_before(time.time() - min(days, _MOST_DAYS) * 86_400)["runs"]
    return sum(keep.erase(run["workflow_id"]) for run in old)


# Tools.


def list_checkpoints(call: Call, workflow: str = "", workflow_id: str = "", limit: int = 20) -> Reply:
    """The latest checkpoint of each open run, with the id that resume_workflow takes and the question it asks. With a
    workflow_id: every checkpoint of that run, one per event."""

    found = listed(call.context.service, workflow, workflow_id, min(max(limit, 1), 200))
    following = (
        f'get_checkpoint(checkpoint_id="{found[0]["checkpoint_id"]}")' if found else "nothing: there are none"
    )
    return {"checkpoints": found, "next": following}


def get_checkpoint(call: Call, checkpoint_id: str) -> Reply:
    """One checkpoint: the steps that the run had completed, the state fields that were written and, for the latest one,
    what the run waits for."""

    found = about(call.context.service, checkpoint_id)
    following = (
        f'resume_workflow(checkpoint_id="{checkpoint_id}", response="")'
        if found["is_latest"]
        else f'list_checkpoints(workflow_id="{found["workflow_id"]}")'
    )
    return {**found, "next": following}


def checkpoint(call: Call, workflow_id: str, reason: str = "") -> Reply:
    """Mark the current position of a run in its history, with a reason. Nothing has to be saved, since every reply is
    on disk. Useful before a session ends."""

    seq = keeper(call.context.service).mark(workflow_id, reason, actor=call.actor)
    return {
        "checkpoint_id": f"{workflow_id}:{seq}",
        "state": f"wfc://runs/{workflow_id}/state",
        "next": f'resume_workflow(checkpoint_id="{workflow_id}:{seq}"), in any session',
    }


def resume_workflow(
    call: Call, checkpoint_id: str, response: str = "", response_format: str = "minimal"
) -> Reply:
    """Continue a run from its latest checkpoint. A response answers the question that the run, or a workflow that it
    called, is waiting with. It must be the person's answer."""
    from wfc_runtime.server.replies import check_format, with_format

    check_format(response_format)
    reply = resume(call.context.service, checkpoint_id, response, call.actor)
    return with_format(call.context.service, reply, response_format)


def delete_checkpoint(call: Call, checkpoint_id: str) -> Reply:
    """Delete a run permanently, with its history. An open run is cancelled first."""

    count = delete(call.context.service, checkpoint_id, call.actor)
    return {"deleted": count, "next": "nothing: it is gone"}


def cleanup_checkpoints(call: Call, days: int = 30) -> Reply:
    """Delete the runs that ended more than this many days ago. Open runs are kept."""

    if days < 0:
        # Taken for 0, it would delete every run that has ended.
        raise RequestError("invalid_days", f"`days` must be 0 or more, not {days}")
    return {"deleted": clean_up(call.context.service, days), "next": "nothing: that was all"}


TOOLS = (
    Tool(list_checkpoints, READS),
    Tool(get_checkpoint, READS),
    Tool(checkpoint, Hints()),
    Tool(resume_workflow, Hints(moves=True)),
    Tool(delete_checkpoint, Hints(destroys=True, idempotent=True)),
    Tool(cleanup_checkpoints, Hints(destroys=True, idempotent=True)),
)
