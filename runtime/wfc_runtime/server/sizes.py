"""Large values by reference: clients cut or refuse long replies, and a model that can't read one is stuck."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from wfc_runtime.contract import Json
from wfc_runtime.server.characters import is_sendable, sendable_value
from wfc_runtime.server.words import short_prompt
from wfc_runtime.service import Reply, actions_of

_LONGEST_REPLY = 40_000
_LONGEST_VALUE = 2_000
_BEGINNING = 1_000
_LONGEST_ITEM = 200


def by_reference(reply: Reply) -> Reply:
    """The reply as it can be sent, with its long values as resources to read if all of it would be too long."""
    text = as_text(reply)
    if not is_sendable(text):
        reply = sendable_value(reply)
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
            child["prompt"] = short_prompt(child["workflow_id"], parameters["task"])
        if "item" in child and _length(child["item"]) > _LONGEST_ITEM:
            child["item"] = f"{as_text(child['item'])[:_LONGEST_ITEM]}..."


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
    from wfc_runtime.machine.plain import to_text

    return to_text(value)
