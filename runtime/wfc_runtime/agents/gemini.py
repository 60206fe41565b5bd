"""Gemini CLI: `gemini --output-format stream-json`, which prints one JSON object for each event.

It has no option for a result schema, so the prompt contains the schema. A call is done if there is a result line with
the status `success` and the exit code is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wfc_runtime.agents.base import (
    Adapter,
    Call,
    Outcome,
    ToolCall,
    answer,
    crash,
    is_unusable_session,
    json_objects,
    number,
    outage_of,
    shortened,
)

_GRANTS = {"shell": "run_shell_command", "web": "web_fetch"}
_LOGIN_CODE, _TURNS_CODE = 41, 53
_REFUSED = ("denied", "rejected", "not allowed", "policy")


class Gemini(Adapter):
    name = "gemini"
    program = "gemini"
    env = (
        *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
        *("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_APPLICATION_CREDENTIALS"),
        *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    )
    takes_schema = False
    has_sessions = True
    names_sessions = False

    def unenforced(self, tools: tuple[str, ...]) -> str:
        # Without a grant it only reads.
        is_known = "read" in tools and set(tools) <= {"read", "edit", *_GRANTS}
        return "" if is_known else "gemini always reads, and can be granted edit, shell and web"

    def fixed_tokens(self, tools: tuple[str, ...] | None) -> int:
        return 0

    def arguments(self, call: Call) -> list[str]:
        words = ["--output-format", "stream-json", "--prompt", "Do what standard input says."]
        words += ["--approval-mode", "auto_edit" if "edit" in call.granted else "default"]
        granted = [_GRANTS[tool] for tool in call.granted if tool in _GRANTS]
        words += ["--allowed-tools", ",".join(granted)] if granted else []
        words += [] if call.trusts_project else ["--extensions", "none"]
        words += ["--model", call.model] if call.model else []
        if call.session:
            words += ["--resume" if call.resumes else "--session-id", call.session]
        return words

    def tool_name(self, tool: str) -> str:
        if tool == "shell":
            return "run_shell_command"
        server, dot, name = tool.partition(".")
        return f"mcp_{server}_{name}" if dot else tool

    def progress(self, line: str) -> str | None:
        for event in json_objects([line]):
            if event.get("type") == "tool_use":
                given = event.get("parameters")
                first = next(iter(given.values()), "") if isinstance(given, dict) else ""
                return f"{event.get('tool_name')} {shortened(first)}".strip()
            if event.get("type") == "message" and event.get("role") == "assistant":
                return shortened(event.get("content"))
        return None

    def outcome(self, call: Call, lines: Sequence[str], errors: str, code: int) -> Outcome:
        events = list(json_objects(lines))
        start: dict[str, Any] = next((one for one in events if one.get("type") == "init"), {})
        end: dict[str, Any] = next((one for one in reversed(events) if one.get("type") == "result"), {})
        stats = end.get("stats")
        about: dict[str, Any] = {
            "session": str(start.get("session_id") or call.session or "") or None,
            "model": str(start["model"]) if start.get("model") else call.model,
            "tokens": _whole(stats.get("total_tokens")) if isinstance(stats, dict) else None,
            "denied": _denied(events),
            "tool_calls": tuple(_calls(events)),
        }
        if not start and is_unusable_session(call, errors):
            return Outcome("gone", message=errors.strip(), **about)
        error = end.get("error")
        said = str(error.get("message", "")) if isinstance(error, dict) else ""
        if code == _LOGIN_CODE:
            return Outcome("login", "", said or errors, **about)
        if code == _TURNS_CODE:
            return Outcome("limit", "", said or "the agent reached its limit of turns", **about)
        if code or end.get("status") != "success":
            kind = outage_of(said or errors)
            return Outcome(kind, "", said or errors, **about) if kind else crash(errors, code, said, **about)
        return answer(call, _text(events), about)


def _text(events: list[dict[str, Any]]) -> str:
    """What it said after its last tool."""
    found = ""
    for event in events:
        if event.get("type") in ("tool_use", "tool_result"):
            found = ""
        elif event.get("type") == "message" and event.get("role") == "assistant":
            found += str(event.get("content", ""))
    return found


def _calls(events: list[dict[str, Any]]) -> list[ToolCall]:
    results = {str(one.get("tool_id")): one for one in events if one.get("type") == "tool_result"}
    found: list[ToolCall] = []
    for event in events:
        given = event.get("parameters")
        if event.get("type") == "tool_use" and isinstance(given, dict):
            result = results.get(str(event.get("tool_id")), {})
            failed = bool(result) and result.get("status") != "success"
            output = _error(result) if failed else result.get("output")
            found.append(ToolCall(str(event.get("tool_name")), given, output, failed))
    return found


def _denied(events: list[dict[str, Any]]) -> tuple[str, ...]:
    uses = [one for one in events if one.get("type") == "tool_use"]
    names = {str(one.get("tool_id")): str(one.get("tool_name")) for one in uses}
    refused = [
        names.get(str(one.get("tool_id")), "a tool")
        for one in events
        if one.get("type") == "tool_result"
        and one.get("status") == "error"
        and any(word in _error(one).lower() for word in _REFUSED)
    ]
    return tuple(dict.fromkeys(refused))


def _error(result: dict[str, Any]) -> str:
    error = result.get("error")
    return f"{error.get('type', '')} {error.get('message', '')}".strip() if isinstance(error, dict) else ""


def _whole(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)
