"""The checkpoint tools of the debug set."""

from __future__ import annotations

from wfc_runtime.server.tool import READS, Call, Hints, Tool
from wfc_runtime.service import Reply


def list_checkpoints(call: Call, workflow: str = "", workflow_id: str = "", limit: int = 20) -> Reply:
    """Where the open runs stand, each with the id that resume_workflow takes and what it asks. With a
    workflow_id: every checkpoint of that run, one per event."""
    from wfc_runtime.server.checkpoints import listed

    found = listed(call.desk.service, workflow, workflow_id, min(max(limit, 1), 200))
    following = (
        f'get_checkpoint(checkpoint_id="{found[0]["checkpoint_id"]}")' if found else "nothing: there are none"
    )
    return {"checkpoints": found, "next": following}


def get_checkpoint(call: Call, checkpoint_id: str) -> Reply:
    """One checkpoint: what the run had done by then, which state fields were written, and, for the latest one,
    what it waits for."""
    from wfc_runtime.server.checkpoints import about

    found = about(call.desk.service, checkpoint_id)
    following = (
        f'resume_workflow(checkpoint_id="{checkpoint_id}", response="")'
        if found["is_latest"]
        else f'list_checkpoints(workflow_id="{found["workflow_id"]}")'
    )
    return {**found, "next": following}


def checkpoint(call: Call, workflow_id: str, reason: str = "") -> Reply:
    """Mark where a run stands, with a reason, in its history. Nothing has to be saved: every reply is on disk.
    Good before a session ends."""
    from wfc_runtime.server.checkpoints import keeper

    seq = keeper(call.desk.service).mark(workflow_id, reason, actor=call.actor)
    return {
        "checkpoint_id": f"{workflow_id}:{seq}",
        "state": f"wfc://runs/{workflow_id}/state",
        "next": f'resume_workflow(checkpoint_id="{workflow_id}:{seq}"), in any session',
    }


def resume_workflow(
    call: Call, checkpoint_id: str, response: str = "", response_format: str = "minimal"
) -> Reply:
    """Go on from a run's latest checkpoint. With a response, it answers the question that the run, or one that
    it called, waits with. It must be the person's."""
    from wfc_runtime.server.checkpoints import resume
    from wfc_runtime.server.details import check_format, with_format

    check_format(response_format)
    reply = resume(call.desk.service, checkpoint_id, response, call.actor)
    return with_format(call.desk.service, reply, response_format)


def delete_checkpoint(call: Call, checkpoint_id: str) -> Reply:
    """Give a run up for good: it is cancelled if it is open, and everything of it is erased."""
    from wfc_runtime.server.checkpoints import delete

    count = delete(call.desk.service, checkpoint_id, call.actor)
    return {"deleted": count, "next": "nothing: it is gone"}


def cleanup_checkpoints(call: Call, days: int = 30) -> Reply:
    """Erase the runs that ended more than so many days ago. Open ones stay."""
    from wfc_runtime.server.checkpoints import clean_up

    return {"deleted": clean_up(call.desk.service, max(days, 0)), "next": "nothing: that was all"}


TOOLS = (
    Tool(list_checkpoints, READS),
    Tool(get_checkpoint, READS),
    Tool(checkpoint, Hints()),
    Tool(resume_workflow, Hints(moves=True)),
    Tool(delete_checkpoint, Hints(destroys=True, idempotent=True)),
    Tool(cleanup_checkpoints, Hints(destroys=True, idempotent=True)),
)
