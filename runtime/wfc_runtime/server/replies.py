"""Conversion of replies for clients and of results from them: characters, sizes, formats, errors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from mcp_types import CallToolResult, TextContent

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, RequestError, WfcError, without_words
from wfc_runtime.server.tools import Call
from wfc_runtime.service import Reply, Service, actions_of

# Unpaired surrogates are not characters, and text with one can't be sent. They arrive in JSON that is sent as text, or
# in the name of a file that is not UTF-8.


def is_sendable(text: str) -> bool:
    try:
        # `isascii` is much faster than encoding, and most texts are ASCII.
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True


def replace_surrogates(text: str) -> str:
    """The text, with a question mark for each unpaired surrogate."""
    return text if is_sendable(text) else text.encode("utf-8", "replace").decode()


def without_surrogates(value: Json) -> Json:
    match value:
        case str():
            return replace_surrogates(value)
        case dict():
            return {replace_surrogates(key): without_surrogates(item) for key, item in value.items()}
        case list():
            return [without_surrogates(item) for item in value]
    return value


# Tool results: the reply as structured content and, with the same words, as text. Clients that know structured content
# hand one of the two to the model; the others know only text. docs/mcp-tools.md names them.

_STRUCTURED_SINCE = "2025-06-18"
_LONGEST_NAME = 100
_LONGEST_REFUSAL = 8_000
"""Characters of pending actions in a refusal."""
_log = logging.getLogger(__name__)


def to_result(reply: Reply, protocol: str) -> CallToolResult:
    """Text and structured content; text only for clients of older protocols."""
    # Protocol versions are dates, so they can be compared as text.
    structured = reply if protocol >= _STRUCTURED_SINCE else None
    return CallToolResult(content=[_text(as_text(reply))], structured_content=structured)


def to_error(tool: str, error: WfcError, now: Reply | None = None) -> CallToolResult:
    """An error result: what failed, why, and what to call next; with `now`, also everything that the run waits for.

    An agent that has lost its context, or never had it, must be able to continue from the refusal alone.
    """
    said = f"{tool[:_LONGEST_NAME]}: {error}"
    if now is None:
        return _error(said)
    pending = as_text({key: now[key] for key in ("action", "actions") if key in now})
    # A refusal must stay readable; beyond that, the agent has to ask for the actions.
    if len(pending) <= _LONGEST_REFUSAL:
        return _error(f"{said}\nPending now: {pending}")
    look = f'get_workflow_status(workflow_id="{now["workflow_id"]}"), which shows the pending actions whole'
    return _error(f"{tool[:_LONGEST_NAME]}: {WfcError(error.code, error.message, error.hint, look)}")


def with_sessions(call: Call, reply: Reply) -> Reply:
    """The reply to a session that asks for a run or answers it, with the known activity of other sessions."""
    from wfc_runtime.service.replies import THIS_SESSION, Worker, with_workers, worker

    sessions = call.context.sessions
    sessions.note(reply["workflow_id"], call.session)
    # Only replies that list children show who works on them.
    if not any("children" in action["parameters"] for action in actions_of(reply)):
        return reply

    def session_at(run: str) -> Worker | None:
        found = sessions.last(run)
        return found and worker(THIS_SESSION if found[0] == call.session else found[0], found[1])

    return with_workers(reply, session_at)


def brief(reply: Reply) -> Reply:
    """A reply to a submit without repetition: the actions that it made pending, and the others by their step_id."""
    if "new" not in reply:
        return reply
    new = [action for action in actions_of(reply) if action["step_id"] in reply["new"]]
    shown: Reply = {"action": new[0]} if len(new) == 1 else {"actions": new} if new else {}
    others = [action["step_id"] for action in actions_of(reply) if action not in new]
    kept = {key: value for key, value in reply.items() if key not in ("action", "actions", "new", "next")}
    return {**kept, **shown, "still_pending": others, "next": reply["next"]}


def to_failure(tool: str, error: Exception) -> CallToolResult:
    """An error result for a bug of wfc. Details go to the log only."""
    _log.error("%s failed: %s", tool[:_LONGEST_NAME], without_words(error))
    return _error(
        f"{tool[:_LONGEST_NAME]}: internal error of wfc ({type(error).__name__}); see the server's log. Next: "
        "get_workflow_status(workflow_id=...) for the state of a run, list_runs() for the open runs."
    )


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[_text(replace_surrogates(text))], is_error=True)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


# Large values by reference: clients truncate or refuse long replies, and a model that can't read one is stuck.

_LONGEST_REPLY = 40_000
_LONGEST_VALUE = 2_000
_BEGINNING = 1_000


def by_reference(reply: Reply) -> Reply:
    """The reply in a form that can be sent. If it is too long, large values are replaced by resources to read."""
    # Imported here: the first reply needs it, not the start of the server.
    from wfc_runtime.machine.values import is_surely_within

    # The usual case, and far cheaper than encoding the reply.
    if is_surely_within(reply, _LONGEST_REPLY):
        return reply
    text = as_text(reply)
    if not is_sendable(text):
        reply = without_surrogates(reply)
    if len(text) <= _LONGEST_REPLY:
        return reply
    size = len(text)
    # The largest values first: as few as possible are replaced.
    for holder, key, uri in sorted(_holders(reply), key=lambda one: -_length(one[0][one[1]])):
        length = _length(holder[key])
        if size <= _LONGEST_REPLY or length <= _LONGEST_VALUE:
            break
        begins = holder[key] if isinstance(holder[key], str) else as_text(holder[key])
        holder[key] = {"resource": uri, "characters": length, "begins": begins[:_BEGINNING]}
        # An estimate: the reference itself and escapes in its beginning are not counted.
        size -= length - _BEGINNING
    return reply


def beginning(value: Json) -> Json:
    """A value that is stored nowhere; if it is long, its beginning and its length."""
    length = _length(value)
    if length <= _LONGEST_REPLY:
        return value
    return {
        "characters": length,
        "begins": (value if isinstance(value, str) else as_text(value))[:_BEGINNING],
    }


def _holders(reply: Reply) -> Iterator[tuple[dict[str, Any], str, str]]:
    """The places of values that may be long: the object, the key, and the resource with the value."""
    # Every reply with large values is about a run; a list of runs has no such values.
    base = f"wfc://runs/{reply.get('workflow_id', '')}"
    if "result" in reply:
        yield reply, "result", f"{base}/result"
    for name in reply.get("state", ()):
        yield reply["state"], name, f"{base}/state/{quote(name, safe='')}"
    for event in reply.get("events", ()):
        for holder in (event, event.get("written", {})):
            yield from ((holder, name, f"{base}/history") for name in holder if name != "written")
    for action in actions_of(reply):
        uri = f"{base}/actions/{quote(action['step_id'], safe='')}"
        yield from ((action["parameters"], name, uri) for name in action["parameters"])
        if "result_schema" in action:
            yield action, "result_schema", uri


def _length(value: Json) -> int:
    return len(as_text(value))


def as_text(value: Json) -> str:
    """The value as JSON text. The encoder is imported with the first reply, not at the start."""
    from wfc_runtime.machine.values import to_text

    return to_text(value)


# The response format.

_FORMATS = ("minimal", "detailed")
_EVENTS = 200


def with_format(service: Service, reply: Reply, response_format: str) -> Reply:
    """`minimal`: the reply unchanged. `detailed`: also the events and the state."""
    if response_format == "minimal":
        return reply
    run = reply["workflow_id"]
    # Without names, `state` gives the sizes of the fields only.
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
    """Called before anything else is done: a refused call must not have started a run."""
    if response_format not in _FORMATS:
        raise RequestError(
            "invalid_arguments",
            f"`response_format` must be one of {', '.join(_FORMATS)}, not {response_format[:40]!r}",
        )


# Results in the forms in which models send them.


def submit_text(call: Call, run: str, step_id: str, text: str, read: Json, usage: Json = None) -> Reply:
    """Submit JSON that was sent as text: parsed if the step expects an object or a list, else as the text itself."""
    service = call.context.service
    # A step that takes any value gets the text as it is: it may be meant as text.
    meant = read if _takes_no_text(service.next_step(run), step_id) else text
    try:
        return service.submit(run, step_id, meant, actor=call.actor, usage=usage)
    except RefusedError as refused:
        # The same text was sent again after the step had been answered: its schema is no longer there to decide.
        if refused.code != "answered" or meant is read:
            raise
        return service.submit(run, step_id, read, actor=call.actor, usage=usage)


def _takes_no_text(reply: Reply, step_id: str) -> bool:
    schemas = [action.get("result_schema") for action in actions_of(reply) if action["step_id"] == step_id]
    return any(isinstance(schema, dict) and schema.get("type") in ("object", "array") for schema in schemas)
