"""Replies on their way to a client, and results on their way in: characters, sizes, formats, errors."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from mcp_types import CallToolResult, TextContent

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, RequestError, WfcError, without_words
from wfc_runtime.server.tools import Call
from wfc_runtime.service import Reply, Service, actions_of

# Unpaired surrogates. They are not characters, and no text with one can be sent. They come in with JSON
# that is sent as text, or with the name of a file that is not UTF-8.


def is_sendable(text: str) -> bool:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True


def replace_surrogates(text: str) -> str:
    """The text, with a question mark for each character that is none."""
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


# Tool results: one form for replies and one for errors, so that a model reads nothing twice.

_STRUCTURED_SINCE = "2025-06-18"
_LONGEST_NAME = 100
_log = logging.getLogger(__name__)


def to_result(reply: Reply, protocol: str) -> CallToolResult:
    """Structured content alone; text alone for clients from before there was any."""
    if protocol >= _STRUCTURED_SINCE:
        return CallToolResult(content=[], structured_content=reply)
    return CallToolResult(content=[_text(json.dumps(reply, ensure_ascii=False, separators=(",", ":")))])


def to_error(tool: str, error: WfcError) -> CallToolResult:
    """What failed, why, and what to call next."""
    return _error(f"{tool[:_LONGEST_NAME]}: {error}")


def to_failure(tool: str, error: Exception) -> CallToolResult:
    """A mistake of ours: where it was goes to the log."""
    _log.error("%s failed: %s", tool[:_LONGEST_NAME], without_words(error))
    return _error(
        f"{tool[:_LONGEST_NAME]}: wfc itself failed ({type(error).__name__}); the server's log says where. Next: "
        "get_workflow_status(workflow_id=...) shows where a run is, list_runs() which are open."
    )


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[_text(replace_surrogates(text))], is_error=True)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


# Large values by reference: clients cut or refuse long replies, and a model that cannot read one is stuck.

_LONGEST_REPLY = 40_000
_LONGEST_VALUE = 2_000
_BEGINNING = 1_000
_LONGEST_ITEM = 200


def by_reference(reply: Reply) -> Reply:
    """The reply as it can be sent, with its long values as resources to read if all of it would be too long."""
    # Lazy: it is imported with the first reply, and not before.
    from wfc_runtime.machine.values import is_surely_within

    if is_surely_within(reply, _LONGEST_REPLY):
        return reply
    text = as_text(reply)
    if not is_sendable(text):
        reply = without_surrogates(reply)
    if len(text) <= _LONGEST_REPLY:
        return reply
    for action in actions_of(reply):
        _shorten_children(action["parameters"])
    size = _length(reply)
    for holder, key, uri in sorted(_holders(reply), key=lambda one: -_length(one[0][one[1]])):
        length = _length(holder[key])
        if size <= _LONGEST_REPLY or length <= _LONGEST_VALUE:
            break
        begins = holder[key] if isinstance(holder[key], str) else as_text(holder[key])
        holder[key] = {"resource": uri, "characters": length, "begins": begins[:_BEGINNING]}
        size -= length - _BEGINNING
    return reply


def beginning(value: Json) -> Json:
    """A value that is kept nowhere: of a long one, what it begins with."""
    length = _length(value)
    if length <= _LONGEST_REPLY:
        return value
    return {
        "characters": length,
        "begins": (value if isinstance(value, str) else as_text(value))[:_BEGINNING],
    }


def _shorten_children(parameters: dict[str, Any]) -> None:
    """A hundred children with a page of rules each: rules can be shorter, and a child has its whole item."""
    for child in parameters.get("children", ()):
        if "prompt" in child:
            child["prompt"] = _short_prompt(child["workflow_id"], parameters["task"])
        if "item" in child and _length(child["item"]) > _LONGEST_ITEM:
            child["item"] = f"{as_text(child['item'])[:_LONGEST_ITEM]}..."


def _short_prompt(run: str, task: str) -> str:
    """The rules of a child prompt in one sentence, for replies with many children."""
    return (
        f'Work the workflow task {task}: get_next_step(workflow_id="{run}"), do its action, submit_step_result with '
        "the action's step_id and a result as result_schema says; the reply has the next action. Stop when "
        "status is completed, failed or cancelled."
    )


def _holders(reply: Reply) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Where long values can stand: the object, the key, and the resource that has the value."""
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
    """As JSON. What writes it is imported with the first reply, and not before."""
    from wfc_runtime.machine.values import to_text

    return to_text(value)


# The response format.

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


# Results as models send them.


def submit_text(call: Call, run: str, step_id: str, text: str, read: Json) -> Reply:
    """Submit JSON that was sent as text: what it stands for where the step takes an object or a list, else the text."""
    service = call.context.service
    meant = read if _takes_no_text(service.next_step(run), step_id) else text
    try:
        return service.submit(run, step_id, meant, actor=call.actor)
    except RefusedError as refused:
        # Sent again, in the same way, after the step has gone on.
        if refused.code != "answered" or meant is read:
            raise
        return service.submit(run, step_id, read, actor=call.actor)


def read_text(result: Json) -> Json:
    """The object or list that a text stands for. None for everything else."""
    if not isinstance(result, str) or result.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return None


def _takes_no_text(reply: Reply, step_id: str) -> bool:
    schemas = [action.get("result_schema") for action in actions_of(reply) if action["step_id"] == step_id]
    return any(isinstance(schema, dict) and schema.get("type") in ("object", "array") for schema in schemas)
