"""OpenCode: `opencode run --format json`, which prints one JSON object for each part of its messages.

It has no option for a result schema, so the prompt contains the schema. A call is done if its last step has ended with
the reason `stop`, no error was reported and the exit code is 0.
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

_REFUSED = ("rejected permission", "permission denied", "denied by")


class OpenCode(Adapter):
    name = "opencode"
    program = "opencode"
    env = (
        *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_CONFIG"),
        *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    )
    takes_schema = False
    has_sessions = True
    names_sessions = True

    def unenforced(self, tools: tuple[str, ...]) -> str:
        return "opencode takes its permissions from its own settings only"

    def fixed_tokens(self, tools: tuple[str, ...] | None) -> int:
        return 0

    def arguments(self, call: Call) -> list[str]:
        words = ["run", "--format", "json"]
        for option, value in (("--model", call.model), ("--agent", call.agent)):
            words += [option, value] if value else []
        # It chooses the ids of sessions itself, so a new session has no option.
        return [*words, "--session", call.session] if call.resumes and call.session else words

    def tool_name(self, tool: str) -> str:
        if tool == "shell":
            return "bash"
        # It joins the names of a server and its tool with an underscore.
        return tool.replace(".", "_", 1)

    def progress(self, line: str) -> str | None:
        for event in json_objects([line]):
            part = _part(event)
            if event.get("type") == "tool_use":
                given = _state(part).get("input")
                first = next(iter(given.values()), "") if isinstance(given, dict) else ""
                return f"{part.get('tool')} {shortened(first)}".strip()
            if event.get("type") == "text":
                return shortened(part.get("text"))
        return None

    def outcome(self, call: Call, lines: Sequence[str], errors: str, code: int) -> Outcome:
        events = list(json_objects(lines))
        session = next((one.get("sessionID") for one in events if one.get("sessionID")), None)
        steps = [_part(one) for one in events if one.get("type") == "step_finish"]
        costs = [found for one in steps if (found := number(one.get("cost"))) is not None]
        about: dict[str, Any] = {
            "session": str(session) if session else call.session,
            "model": call.model,
            # Its events have the cost of each step; the outcome has that of the session.
            "usd": call.spent + sum(costs) if costs else None,
            "tokens": _tokens(steps),
            "turns": len(steps) or None,
            "denied": _denied(events),
            "tool_calls": tuple(_calls(events)),
        }
        if session is None and is_unusable_session(call, errors):
            return Outcome("gone", message=errors.strip(), **about)
        failures = [_error(one.get("error")) for one in events if one.get("type") == "error"]
        if failures or code or not steps or steps[-1].get("reason") != "stop":
            said = failures[-1] if failures else ""
            kind = outage_of(said or errors)
            return Outcome(kind, "", said or errors, **about) if kind else crash(errors, code, said, **about)
        return answer(call, _text(events), about)


def _part(event: dict[str, Any]) -> dict[str, Any]:
    found = event.get("part")
    return found if isinstance(found, dict) else {}


def _state(part: dict[str, Any]) -> dict[str, Any]:
    found = part.get("state")
    return found if isinstance(found, dict) else {}


def _error(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error or "")
    data = error.get("data")
    return str((data if isinstance(data, dict) else error).get("message") or error.get("name") or "")


def _tokens(steps: list[dict[str, Any]]) -> int | None:
    used = [one.get("tokens") for one in steps]
    counts = [
        number(one.get(kind)) or 0
        for one in used
        if isinstance(one, dict)
        for kind in ("input", "output", "reasoning")
    ]
    return int(sum(counts)) if counts else None


def _text(events: list[dict[str, Any]]) -> str:
    """What it said after its last tool."""
    found: list[str] = []
    for event in events:
        if event.get("type") == "tool_use":
            found = []
        elif event.get("type") == "text":
            found.append(str(_part(event).get("text", "")))
    return "\n".join(found)


def _calls(events: list[dict[str, Any]]) -> list[ToolCall]:
    found: list[ToolCall] = []
    for event in events:
        part = _part(event)
        state = _state(part)
        given = state.get("input")
        if event.get("type") == "tool_use" and isinstance(given, dict):
            failed = state.get("status") == "error"
            result = state.get("error") if failed else state.get("output")
            found.append(ToolCall(str(part.get("tool")), given, result, failed))
    return found


def _denied(events: list[dict[str, Any]]) -> tuple[str, ...]:
    refused = [
        str(_part(one).get("tool"))
        for one in events
        if one.get("type") == "tool_use"
        and any(word in str(_state(_part(one)).get("error", "")).lower() for word in _REFUSED)
    ]
    return tuple(dict.fromkeys(refused))
