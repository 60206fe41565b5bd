"""Claude Code: `claude -p` with a stream of JSON lines.

Neither its exit code nor `subtype` shows whether it succeeded: a refused connection ends with `subtype: success`, and
so does a call whose every tool was denied. A call is done only if everything agrees: there is a result line,
`is_error` is false, `terminal_reason` is `completed`, the exit code is 0 and, with a schema, there is a
`structured_output`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wfc_runtime.agents.base import (
    Adapter,
    Call,
    Kind,
    Outcome,
    ToolCall,
    crash,
    is_unusable_session,
    json_objects,
    number,
    outage_of,
)
from wfc_runtime.contract import Json

_TOOLS = {
    "read": ("Read", "Glob", "Grep"),
    "edit": ("Edit", "Write", "NotebookEdit"),
    "shell": ("Bash",),
    "web": ("WebFetch", "WebSearch"),
}
_ENVIRONMENTS = "Read(//proc/**)"
"""Where the system shows the environment of processes. The rule also holds for searches."""
_ALL_TOOLS, _NO_TOOLS, _ONE_TOOL = 11_600, 1_900, 500
_LATEST = 1e11
"""Seconds since 1970. Milliseconds of this century are more."""
_USAGE = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Claude(Adapter):
    name = "claude"
    program = "claude"
    env = (
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"),
        *("CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"),
    )
    takes_schema = True
    has_sessions = True
    names_sessions = False

    def unenforced(self, tools: tuple[str, ...]) -> str:
        return ""

    def fixed_tokens(self, tools: tuple[str, ...] | None) -> int:
        # Measured with 2.1.325: 11,600 with its own tools, 2,400 with Read, 1,900 without any.
        return _ALL_TOOLS if tools is None else min(_ALL_TOOLS, _NO_TOOLS + _ONE_TOOL * len(tools))

    # -- starting --------------------------------------------------------------

    def arguments(self, call: Call) -> list[str]:
        words = ["-p", "--output-format", "stream-json", "--verbose"]
        if not call.trusts_project:
            # Without this, hooks and MCP servers of the project's folder would run unasked.
            words += ["--setting-sources", "user", "--strict-mcp-config"]
        if call.session is not None:
            words += ["--resume" if call.resumes else "--session-id", call.session]
        for option, value in (("--model", call.model), ("--agent", call.agent)):
            words += [option, value] if value else []
        if call.usd is not None:
            words += ["--max-budget-usd", f"{max(call.usd, 0.0001):.4f}"]
        if call.schema is not None:
            words += ["--json-schema", json.dumps(_object_schema(call.schema))]
        return words + _tool_options(call.tools, call.granted)

    def tool_name(self, tool: str) -> str:
        if tool == "shell":
            return "Bash"
        server, dot, name = tool.partition(".")
        return f"mcp__{server}__{name}" if dot else tool

    # -- reading ---------------------------------------------------------------

    def progress(self, line: str) -> str | None:
        for message in json_objects([line]):
            for part in _content(message, "assistant"):
                if part.get("type") == "tool_use":
                    return f"{part.get('name')} {_first_text(part.get('input'))}".strip()
                if part.get("type") == "text" and str(part.get("text", "")).strip():
                    return " ".join(str(part["text"]).split())[:80]
        return None

    def outcome(self, call: Call, lines: Sequence[str], errors: str, code: int) -> Outcome:
        messages = list(json_objects(lines))
        start: dict[str, Any] = next((one for one in messages if one.get("subtype") == "init"), {})
        about: dict[str, Any] = {
            "session": _text(start.get("session_id")) or call.session,
            "model": _text(start.get("model")) or call.model,
            "tool_calls": tuple(_tool_calls(messages)),
        }
        end = next((one for one in reversed(messages) if one.get("type") == "result"), None)
        if end is None and is_unusable_session(call, errors):
            return Outcome("gone", message=errors.strip(), **about)
        if end is None:
            said = errors if errors.strip() or code else "its output has no result"
            return crash(errors, code, said, tokens=_spoken_tokens(messages), **about)
        about |= {
            "usd": number(end.get("total_cost_usd")),
            # A call that its budget ended reports none, although its messages do.
            "tokens": _tokens(end.get("usage")) or _spoken_tokens(messages),
            "turns": end.get("num_turns") if isinstance(end.get("num_turns"), int) else None,
            "denied": _denied(end),
        }
        said = _said(end)
        failure = _failure(end, code, said)
        if failure is not None:
            kind, message = failure
            return Outcome(kind, said, message, resets_at=_resets_at(messages), **about)
        # A server that can't start is not an error for Claude Code (the exit code is 0): only this status shows it.
        broken = [str(one.get("name")) for one in _servers(start) if one.get("status") == "failed"]
        if broken:
            return Outcome("crash", said, f"MCP servers that did not start: {', '.join(broken)}", **about)
        if call.schema is None:
            return Outcome("done" if said.strip() else "misfit", said, "", **about)
        if "structured_output" not in end:
            return Outcome("misfit", said, "the agent returned text instead of a structured result", **about)
        value = end["structured_output"]
        # Undo the wrapping of `_object_schema`: the program only accepts schemas of objects.
        if not _is_object(call.schema) and isinstance(value, dict):
            value = value.get("value")
        return Outcome("done", value, "", **about)


# Tools and schemas.


def _tool_options(tools: tuple[str, ...] | None, granted: tuple[str, ...]) -> list[str]:
    """`--tools` takes all others out of the request; `--allowedTools` spares the question for these."""
    if tools is None:
        return []
    available = [name for tool in tools for name in _TOOLS.get(tool.partition("(")[0], ())]
    allowed: list[str] = []
    for tool in granted:
        kind, _, pattern = tool.rstrip(")").partition("(")
        if kind.startswith("mcp:"):
            allowed.append(f"mcp__{kind.removeprefix('mcp:')}")
        else:
            allowed += [f"Bash({pattern})"] if pattern else _TOOLS.get(kind, ())
    words = ["--tools", ",".join(dict.fromkeys(available))]
    words += ["--allowedTools", ",".join(dict.fromkeys(allowed))] if allowed else []
    # SECURITY. A granted `Read` covers the whole machine. A text that the agent reads could make it search
    # /proc/self/environ and show the key of the agent's account. A shell shows it anyway.
    if "Read" in allowed and "Bash" not in allowed:
        words += ["--disallowedTools", _ENVIRONMENTS]
    return words


def _is_object(schema: Json) -> bool:
    return isinstance(schema, dict) and (schema.get("type") == "object" or "properties" in schema)


def _object_schema(schema: Json) -> Json:
    """A result comes as the input of a tool, which is an object: other results are wrapped."""
    if _is_object(schema):
        # The client refuses a schema that names its own draft.
        return {**{key: value for key, value in schema.items() if key != "$schema"}, "type": "object"}
    inner = dict(schema) if isinstance(schema, dict) else {}
    inner.pop("$schema", None)
    shared = {name: inner.pop(name) for name in ("$defs", "definitions") if name in inner}
    wrapped = {"type": "object", "properties": {"value": inner}, "required": ["value"]}
    return {**wrapped, "additionalProperties": False, **shared}


# Messages of the stream.


def _content(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    inner = message.get("message") if message.get("type") == kind else None
    content = inner.get("content") if isinstance(inner, dict) else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _tool_calls(messages: list[dict[str, Any]]) -> list[ToolCall]:
    results = {
        _text(part.get("tool_use_id")): part
        for message in messages
        for part in _content(message, "user")
        if part.get("type") == "tool_result"
    }
    calls = []
    for message in messages:
        for part in _content(message, "assistant"):
            given = part.get("input")
            if part.get("type") == "tool_use" and isinstance(given, dict):
                # Without an id, nothing shows which result belongs to the call.
                place = _text(part.get("id"))
                found = {} if place is None else results.get(place, {})
                result, is_error = found.get("content"), found.get("is_error") is True
                calls.append(ToolCall(str(part.get("name")), given, result, is_error))
    return calls


def _failure(end: dict[str, Any], code: int, said: str) -> tuple[Kind, str] | None:
    """Why a call with a result line did not work."""
    subtype, reason = end.get("subtype"), end.get("terminal_reason")
    if end.get("is_error") is False and subtype == "success" and reason == "completed" and code == 0:
        return None
    if subtype == "error_max_budget_usd":
        return "budget", "the agent has used up its budget"
    if subtype == "error_max_turns":
        return "limit", f"the agent reached its limit ({subtype})"
    if subtype == "error_max_structured_output_retries":
        return "misfit", "the agent found no result that fits"
    if reason == "api_error" or (subtype == "success" and end.get("is_error") is True):
        status, kind = end.get("api_error_status"), outage_of(said)
        if status in (401, 403) or kind == "login":
            return "login", said
        if status == 429 or kind == "quota":
            return "quota", said
        if not (isinstance(status, int) and 400 <= status < 500):
            return "network", said
    return "crash", f"the agent ended with exit code {code} ({subtype}, {reason}): {said[-600:]}"


def _denied(end: dict[str, Any]) -> tuple[str, ...]:
    denials = end.get("permission_denials") or []
    # A denial in an unknown form is still one: it must not make the call a success.
    found = denials if isinstance(denials, list) else [denials]
    names = [_text(one.get("tool_name")) if isinstance(one, dict) else _text(one) for one in found]
    return tuple(dict.fromkeys(name or "an unnamed tool" for name in names))


def _servers(start: dict[str, Any]) -> list[dict[str, Any]]:
    found = start.get("mcp_servers")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _resets_at(messages: list[dict[str, Any]]) -> float | None:
    limits = [one.get("rate_limit_info") for one in messages if one.get("type") == "rate_limit_event"]
    found = number(limits[-1].get("resetsAt")) if limits and isinstance(limits[-1], dict) else None
    # Anything else is not a time that can be shown or waited for.
    return found if found is not None and 0 < found < _LATEST else None


def _tokens(usage: Any) -> int | None:
    if not isinstance(usage, dict):
        return None
    return int(sum(number(usage.get(name)) or 0 for name in _USAGE))


def _spoken_tokens(messages: list[dict[str, Any]]) -> int | None:
    """Without a result line, the cost comes from the messages. One message may span several lines."""
    spoken = [one.get("message") for one in messages if one.get("type") == "assistant"]
    usage = {_text(one.get("id")): one.get("usage") for one in spoken if isinstance(one, dict)}
    return sum(_tokens(one) or 0 for one in usage.values()) if usage else None


def _said(end: dict[str, Any]) -> str:
    result, errors = end.get("result"), end.get("errors")
    return _text(result) or ("; ".join(map(str, errors)) if isinstance(errors, list) else "")


def _first_text(given: Any) -> str:
    values = given.values() if isinstance(given, dict) else ()
    return next((" ".join(one.split())[:60] for one in values if isinstance(one, str) and one), "")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
