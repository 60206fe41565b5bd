"""Results as models send them."""

from __future__ import annotations

import json

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.server.tool import Call
from wfc_runtime.service import Reply, actions_of


def submit(call: Call, run: str, step_id: str, result: Json) -> Reply:
    """Hand a result to the service. JSON sent as text is read where the step takes an object or a list."""
    service = call.desk.service
    read = _read(result)
    if read is None:
        return service.submit(run, step_id, result, actor=call.actor)
    meant = read if _takes_no_text(service.next_step(run), step_id) else result
    try:
        return service.submit(run, step_id, meant, actor=call.actor)
    except RefusedError as refused:
        # Sent again, in the same way, after the step has gone on.
        if refused.code != "answered" or meant is read:
            raise
        return service.submit(run, step_id, read, actor=call.actor)


def _read(result: Json) -> Json:
    """The object or list that a text stands for. None where it is something else."""
    if not isinstance(result, str) or result.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return None


def _takes_no_text(reply: Reply, step_id: str) -> bool:
    schemas = [action.get("result_schema") for action in actions_of(reply) if action["step_id"] == step_id]
    return any(isinstance(schema, dict) and schema.get("type") in ("object", "array") for schema in schemas)
