"""Tools as typed functions: their descriptions, their arguments, and the identity of the caller."""

from __future__ import annotations

import inspect
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, get_type_hints

import anyio.to_thread
from mcp.server.context import ServerRequestContext

from wfc_runtime.contract import Json
from wfc_runtime.errors import RequestError, StoreError, WfcError
from wfc_runtime.server.context import ServerContext
from wfc_runtime.server.front_messages import KEY
from wfc_runtime.service import Reply

in_thread = anyio.to_thread.run_sync
"""The service waits for the disk and sometimes for other processes, so it never runs on the event loop."""


# The caller, as far as the client identifies it.

RequestContext = ServerRequestContext[Any, Any]
_TOOL_USE = "claudecode/toolUseId"
_PROCESS = secrets.token_hex(4)
"""Identifies this process: over stdio, a process is a session."""
_LONGEST_KEY = 200


def actor_of(ctx: RequestContext) -> str:
    """The tool use if the client names it, else the session."""
    meta: dict[str, Any] = {**(ctx.meta or {})}
    tool_use = meta.get(_TOOL_USE)
    return tool_use if isinstance(tool_use, str) and tool_use else session_of(ctx)


def session_of(ctx: RequestContext) -> str:
    """The session if there is one, else the client and this process."""
    headers = getattr(ctx.request, "headers", {})
    session = headers.get("mcp-session-id")
    if session:
        # Over HTTP a process serves many sessions, so the header identifies it.
        return f"session:{session}"
    client = ctx.session.client_params
    return f"{client.client_info.name if client else 'client'}:{_PROCESS}"


def key_of(ctx: RequestContext) -> str | None:
    """The request key of a call, if it has one."""
    key = {**(ctx.meta or {})}.get(KEY)
    if key is None:
        return None
    # The key becomes part of an id, and comes from the client.
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
        raise RequestError("invalid_key", f"`{KEY}` must be text of at most {_LONGEST_KEY} characters")
    return key


# Tools.

ARGUMENTS = {
    "workflow": "The workflow's name, from list_workflows.",
    "inputs": "The workflow's inputs by name; get_workflow_info has their schema.",
    "workflow_id": "The id of the run, from a reply.",
    "step_id": "The step_id of the action, or of the error for a retry, exactly as in the reply.",
    "result": 'A value as described by result_schema; {"error": "<reason>"} if the step can\'t be done.',
    "usage": "The cost of the work: {usd, tokens}, if known.",
    "query": "Words that must occur in the name or the description.",
    "status": "open (default), completed, failed, cancelled or all.",
    "reason": "The reason, for the history.",
    "fields": "The fields to return; without any, the names of all fields and their sizes in bytes.",
    "updates": 'A list of {"path": "raw.<field>" or a part of it, "value": ..., "operation": set (default), append, '
    "increment, decrement, multiply or merge}.",
    "after": "Only events after this number.",
    "before": "Only runs older than this one.",
    "limit": "The maximum number of entries.",
    "field": "A state field's name.",
    "include_timing": "Whether to measure how long computed fields take.",
    "transform": "The expression, as in a workflow: {{ state.total + input }}.",
    "input": "A value that the expression reads as `input`.",
    "context": 'Other values that it may read, by name: {"state": {...}, "inputs": {...}}.',
    "yaml": "The whole workflow as YAML text.",
    "response_format": "minimal (default), or detailed: with the run's events and its complete state.",
    "checkpoint_id": "A checkpoint's id, from list_checkpoints.",
    "response": "The answer, word for word; yes or no for a yes-or-no question.",
    "days": "The number of days.",
    "task_id": "The task: <workflow_id>/<step_id> for a step, the task_id from start_task, or a workflow_id.",
    "question": "The question that was decided.",
    "chosen": "What was chosen.",
    "reasoning": "Why.",
    "category": "Such as architecture, library_choice, trade_off, workaround, approach or scope.",
    "options_considered": "The alternatives.",
    "trade_offs": "The trade-offs of the decision.",
    "message": "One sentence.",
    "progress": "How much of the task is done, in percent.",
    "description": "A description for people who read the journal later.",
    "type": "Such as documentation_gap, bug_encountered, dependency_conflict, unclear_requirement or blocker.",
    "resolution": "How it was resolved; for a blocker, the person's answer.",
    "requires_human_review": "Whether a person has to decide before the work can continue.",
    "issue_id": "The issue that is resolved: its `entry`.",
    "name": "A short name.",
    "goal": "The goal.",
    "caller_type": "Who works on it: orchestrator (default), subagent or person.",
    "agent_name": "The name of the agent that works on it.",
    "areas": "Files and folders that it may change, as paths or patterns.",
    "phase_id": "The phase, from start_phase or get_context.",
    "parent_task_id": "The task that it is a part of.",
    "outcome": "The outcome.",
    "metadata": "Figures about the work.",
    "number": "The number of the phase, from 1.",
    "is_parallel": "Whether its tasks are done at the same time.",
    "include": "decisions, milestones, issues, blockers, tasks and phase_summary; without any, all of them.",
    "filter": 'Only entries that match: {"agent": ..., "phase": ..., "task": ..., "since": <a time>}.',
    "summary": "The outcome of the run.",
    "achievements": "What was achieved.",
    "limitations": "What was not.",
    "language": "steps (default), or another language that workflows can be written in.",
}
"""An argument has the same meaning in every tool."""

_SCHEMAS: dict[Any, dict[str, Json]] = {
    str: {"type": "string"},
    str | None: {"type": "string"},
    int: {"type": "integer"},
    int | None: {"type": "integer"},
    bool: {"type": "boolean"},
    dict[str, Any] | None: {"type": "object"},
    list[str] | None: {"type": "array", "items": {"type": "string"}},
    Any: {"anyOf": [{"type": kind} for kind in ("object", "array", "string", "number", "boolean", "null")]},
}
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "object": "an object",
    "array": "a list of text",
    "boolean": "true or false",
}


@dataclass(frozen=True)
class Call:
    """The context of a tool call, in addition to its arguments."""

    context: ServerContext
    actor: str | None
    session: str = ""
    key: str | None = None
    """Calls with the same key start only one run: a front repeats a call if its worker died."""


@dataclass(frozen=True)
class Hints:
    """Properties that clients rely on: read-only calls may run in parallel, idempotent ones may be repeated."""

    reads: bool = False
    destroys: bool = False
    idempotent: bool = False
    first: bool = False
    """Shown to the model from the start; clients may load the others on demand."""
    moves: bool = False
    """May leave a run waiting for the user."""
    keyed: bool = False
    """Accepts a request key, so that a repeated call is executed only once."""


READS = Hints(reads=True, idempotent=True)


class AnyTool(Protocol):
    """A tool that a client can list and call."""

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
    """A function that a client may call. The model reads its docstring as the description."""

    work: Callable[..., Reply]
    hints: Hints
    meanings: Mapping[str, str] = field(default_factory=dict)
    """The meaning of arguments in this tool, if it differs from `ARGUMENTS`."""

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
        words = {**ARGUMENTS, **self.meanings}
        return {name: {**_SCHEMAS[hints[name]], "description": words[name]} for name in self.parameters}

    @cached_property
    def input_schema(self) -> dict[str, Json]:
        required = [name for name, one in self.parameters.items() if one.default is inspect.Parameter.empty]
        return {
            "type": "object",
            "properties": self.schemas,
            "required": required,
            # Unknown arguments are refused: a misspelt optional one would otherwise be ignored silently.
            "additionalProperties": False,
        }

    def run(self, call: Call, given: Mapping[str, Json]) -> Reply:
        return self.work(call, **self._checked(given))

    def _checked(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """The checked arguments. Raises one error with all problems."""
        problems = [f"`{name}` is not an argument" for name in given if name not in self.parameters]
        problems += [f"`{name}` is missing" for name in self.input_schema["required"] if name not in given]
        checked: dict[str, Json] = {}
        for name, value in given.items():
            if name not in self.parameters:
                continue
            kind = self.schemas[name].get("type")
            optional = self.parameters[name].default is not inspect.Parameter.empty
            checked[name] = _as_kind(value, kind)
            # Null for an optional argument means that it was left out.
            if not (value is None and optional) and not _is_kind(checked[name], kind):
                problems.append(f"`{name}` must be {_WORDS[str(kind)]}")
        if problems:
            raise RequestError("invalid_arguments", "; ".join(problems), next_call=self.usage)
        # For a result, null is a value.
        return {name: value for name, value in checked.items() if value is not None or name == "result"}

    @property
    def usage(self) -> str:
        """The call syntax of the tool."""
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
        case "boolean":
            return isinstance(value, bool)
    return True


def _as_kind(value: Json, kind: Json) -> Json:
    """Decode JSON text: models sometimes send an object, a list or a number as text."""
    if isinstance(value, str) and kind in ("object", "array", "integer", "boolean"):
        try:
            read = json.loads(value.lower() if kind == "boolean" else value)
        except (ValueError, RecursionError):
            return value
        return read if _is_kind(read, kind) else value
    return value


def with_call_before_start(error: WfcError, workflow: str) -> WfcError:
    """A refusal to start a workflow, with the call that helps."""
    match error:
        case WfcError(next_call=call) if call:
            # An error that knows its next call is not changed.
            return error
        case StoreError():
            call = "list_runs(), after the person has seen to this"
        case WfcError(code="invalid_inputs"):
            call = f'get_workflow_info(workflow="{workflow}"), which has the schema of the inputs'
        case _:
            call = "list_workflows(), which shows the workflows that can be started"
    return WfcError(error.code, error.message, error.hint, call)


def read_text(result: Json) -> Json:
    """The object or list that a JSON text encodes; None for everything else."""
    if not isinstance(result, str) or result.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return None
