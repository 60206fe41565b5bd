"""Replies with everything in them, for whoever asks for it."""

from __future__ import annotations

from wfc_runtime.errors import RequestError
from wfc_runtime.service import Reply, Service

_FORMATS = ("minimal", "detailed")
_EVENTS = 200


def with_format(service: Service, reply: Reply, response_format: str) -> Reply:
    """`minimal`: the reply as it is. `detailed`: also what has happened, and the state."""
    if response_format == "minimal":
        return reply
    run = reply["workflow_id"]
    names = list(service.state(run)["fields"])
    following = reply["next"]
    kept = {key: value for key, value in reply.items() if key != "next"}
    state = service.state(run, names)["state"] if names else {}
    return {
        **kept,
        "events": service.history(run, limit=_EVENTS)["events"],
        "state": state,
        "next": following,
    }


def check_format(response_format: str) -> None:
    """Before anything is done: a call that is refused must not have started a run."""
    if response_format not in _FORMATS:
        raise RequestError(
            "invalid_arguments",
            f"`response_format` must be one of {', '.join(_FORMATS)}, not {response_format[:40]!r}",
        )
