"""Tools as typed functions: what a client is told about each, what it may pass, and who called."""

from __future__ import annotations

import inspect
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, get_type_hints

import anyio.to_thread
from mcp.server.context import ServerRequestContext

from wfc_runtime.contract import Json
from wfc_runtime.errors import RequestError
from wfc_runtime.server.context import ServerContext
from wfc_runtime.server.front_messages import KEY
from wfc_runtime.service import Reply

in_thread = anyio.to_thread.run_sync
"""The service waits for the disk and sometimes for another process: never on the event loop."""


# The caller, as far as the client identifies it.

RequestContext = ServerRequestContext[Any, Any]
_TOOL_USE = "claudecode/toolUseId"
_PROCESS = secrets.token_hex(4)
"""On stdio a process is a session."""
_LONGEST_KEY = 200


def actor_of(ctx: RequestContext) -> str:
    """The tool use where the client names it, else the session, else the client and this process."""
    meta: dict[str, Any] = {**(ctx.meta or {})}
    tool_use = meta.get(_TOOL_USE)
    if isinstance(tool_use, str) and tool_use:
        return tool_use
    headers = getattr(ctx.request, "headers", {})
    session = headers.get("mcp-session-id")
    if session:
        return f"session:{session}"
    client = ctx.session.client_params
    return f"{client.client_info.name if client else 'client'}:{_PROCESS}"


def key_of(ctx: RequestContext) -> str | None:
    """The request key of a call, if it has one."""
    key = {**(ctx.meta or {})}.get(KEY)
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
        raise RequestError("invalid_key", f"`{KEY}` must be text of at most {_LONGEST_KEY} characters")
    return key


# Tools.

ARGUMENTS = {
    "workflow": "The workflow's name, from list_workflows.",
    "inputs": "The workflow's inputs by name; get_workflow_info has their schema.",
    "workflow_id": "The run's id, from a reply.",
    "step_id": "The pending action's step_id, exactly as the reply has it.",
    "result": 'What the action\'s result_schema asks for; {"error": "<why>"} where the step can\'t be done.',
    "query": "Words that the name or the description must have.",
    "status": "open (default), completed, failed, cancelled or all.",
    "reason": "Why, for the history.",
    "fields": "The fields wanted; without any, which there are and how many bytes each has.",
    "after": "Only events after this number.",
    "before": "Only runs older than this one.",
    "limit": "At most so many.",
    "field": "A state field's name.",
    "transform": "The expression, as in a workflow: {{ state.total + input }}.",
    "input": "A value that the expression reads as `input`.",
    "context": 'What else it may read, by name: {"state": {...}, "inputs": {...}}.',
    "yaml": "The whole workflow as YAML text.",
    "response_format": "minimal (default), or detailed: with the run's events and its whole state.",
    "checkpoint_id": "A checkpoint's id, from list_checkpoints.",
    "response": "The answer, word for word; yes or no where that is asked.",
    "days": "How many days ago.",
    "language": "steps (default), or another that workflows can be written in.",
}
"""What an argument means is the same in every tool."""

_SCHEMAS: dict[Any, dict[str, Json]] = {
    str: {"type": "string"},
    str | None: {"type": "string"},
    int: {"type": "integer"},
    dict[str, Any] | None: {"type": "object"},
    list[str] | None: {"type": "array", "items": {"type": "string"}},
    Any: {"anyOf": [{"type": kind} for kind in ("object", "array", "string", "number", "boolean", "null")]},
}
_WORDS = {"string": "text", "integer": "a whole number", "object": "an object", "array": "a list of text"}


@dataclass(frozen=True)
class Call:
    """What a tool gets beside its arguments."""

    context: ServerContext
    actor: str | None
    key: str | None = None
    """Calls with the same key start one run: a front repeats a call that its worker died of."""


@dataclass(frozen=True)
class Hints:
    """What clients may rely on: calls that only read run side by side, idempotent ones may be repeated."""

    reads: bool = False
    destroys: bool = False
    idempotent: bool = False
    first: bool = False
    """Shown to the model from the start; clients may load the others when they are asked for."""
    moves: bool = False
    """May leave a run waiting for the person."""
    keyed: bool = False
    """Takes a request key, so that a repeated call does nothing again."""


READS = Hints(reads=True, idempotent=True)


class AnyTool(Protocol):
    """What a client can list and call."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def input_schema(self) -> dict[str, Json]: ...

    @property
    def hints(self) -> Hints: ...

    def run(self, call: Call, given: Mapping[str, Json]) -> Reply: ...


@dataclass(frozen=True)
class Tool:
    """One function that a client may call. Its docstring is what the model reads of it."""

    work: Callable[..., Reply]
    hints: Hints

    @property
    def name(self) -> str:
        return self.work.__name__

    @property
    def description(self) -> str:
        return " ".join((self.work.__doc__ or "").split())

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        given = inspect.signature(self.work).parameters
        return {name: parameter for name, parameter in given.items() if name != "call"}

    @cached_property
    def schemas(self) -> dict[str, dict[str, Json]]:
        hints = get_type_hints(self.work)
        return {name: {**_SCHEMAS[hints[name]], "description": ARGUMENTS[name]} for name in self.parameters}

    @cached_property
    def input_schema(self) -> dict[str, Json]:
        required = [name for name, one in self.parameters.items() if one.default is inspect.Parameter.empty]
        return {
            "type": "object",
            "properties": self.schemas,
            "required": required,
            "additionalProperties": False,
        }

    def run(self, call: Call, given: Mapping[str, Json]) -> Reply:
        return self.work(call, **self._checked(given))

    def _checked(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments, or every problem with them in one message."""
        problems = [f"`{name}` is not an argument" for name in given if name not in self.parameters]
        problems += [f"`{name}` is missing" for name in self.input_schema["required"] if name not in given]
        checked: dict[str, Json] = {}
        for name, value in given.items():
            if name not in self.parameters:
                continue
            kind = self.schemas[name].get("type")
            optional = self.parameters[name].default is not inspect.Parameter.empty
            checked[name] = _as_kind(value, kind)
            if not (value is None and optional) and not _is_kind(checked[name], kind):
                problems.append(f"`{name}` must be {_WORDS[str(kind)]}")
        if problems:
            raise RequestError("invalid_arguments", "; ".join(problems), f"Next: {self.usage}")
        return {name: value for name, value in checked.items() if value is not None or name == "result"}

    @property
    def usage(self) -> str:
        """How the tool is called."""
        names = [
            f"{name}=..." if one.default is inspect.Parameter.empty else f"[{name}=...]"
            for name, one in self.parameters.items()
        ]
        return f"{self.name}({', '.join(names)})"


def _is_kind(value: Json, kind: Json) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return True


def _as_kind(value: Json, kind: Json) -> Json:
    """Models sometimes send an object, a list or a number as JSON text."""
    if isinstance(value, str) and kind in ("object", "array", "integer"):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return read if _is_kind(read, kind) else value
    return value
