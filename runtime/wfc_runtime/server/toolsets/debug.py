"""Looking into a run."""

from __future__ import annotations

from wfc_runtime.server.tool import Call, Hints, Reply, Tool


def get_workflow_state(call: Call, workflow_id: str, fields: list[str] | None = None) -> Reply:
    """The named state fields of a run, and no others."""
    reply = call.desk.service.state(workflow_id, fields)
    return {**reply, "next": reply.get("next", f'get_workflow_status(workflow_id="{workflow_id}")')}


def get_workflow_history(call: Call, workflow_id: str, after: int = 0, limit: int = 50) -> Reply:
    """What happened in a run, when, and who answered: every event with the states entered and left and what
    was written."""
    reply = call.desk.service.history(workflow_id, after=after, limit=limit)
    return {**reply, "next": reply.get("next", "nothing: that is all so far")}


TOOLS = tuple(
    Tool(work, Hints(reads=True, idempotent=True)) for work in (get_workflow_state, get_workflow_history)
)
