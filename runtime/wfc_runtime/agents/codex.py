"""Codex: `codex exec --json`, which prints one JSON object for each event of a thread.

The prompt contains the schema of the result: `--output-schema` refuses most schemas. A call is done if the turn has
completed, no error was reported and the exit code is 0.
"""

from __future__ import annotations

import shlex
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

_SHELLS = ("bash", "sh", "zsh")
_SANDBOXES = {("read",): "read-only", ("edit", "read", "shell"): "workspace-write"}
"""What its sandboxes allow, in the words of `tools`."""


class Codex(Adapter):
    name = "codex"
    program = "codex"
    env = ("OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
    takes_schema = False
    has_sessions = True
    names_sessions = True

    def unenforced(self, tools: tuple[str, ...]) -> str:
        is_known = tuple(sorted(tools)) in _SANDBOXES
        return "" if is_known else "codex can be limited to [read] or [read, edit, shell]"

    def fixed_tokens(self, tools: tuple[str, ...] | None) -> int:
        return 0

    def arguments(self, call: Call) -> list[str]:
        words = ["exec", "--json", "--skip-git-repo-check"]
        if call.tools is not None:
            words += ["--sandbox", _SANDBOXES[tuple(sorted(call.tools))]]
        words += ["--model", call.model] if call.model else []
        # `-` makes it read the prompt from standard input.
        return [*words, "resume", call.session, "-"] if call.resumes and call.session else [*words, "-"]

    def tool_name(self, tool: str) -> str:
        return tool

    def progress(self, line: str) -> str | None:
        for event in json_objects([line]):
            item = _item(event)
            if item.get("type") == "command_execution":
                return f"shell {shortened(_command(item))}"
            if item.get("type") == "mcp_tool_call":
                return f"{item.get('server')}.{item.get('tool')}"
            if item.get("type") == "agent_message":
                return shortened(item.get("text"))
        return None

    def outcome(self, call: Call, lines: Sequence[str], errors: str, code: int) -> Outcome:
        events = list(json_objects(lines))
        ended = [_item(one) for one in events if one.get("type") == "item.completed"]
        session = next((one.get("thread_id") for one in events if one.get("type") == "thread.started"), None)
        texts = [str(one.get("text", "")) for one in ended if one.get("type") == "agent_message"]
        declined = [_command(one) for one in ended if one.get("status") == "declined"]
        about: dict[str, Any] = {
            "session": str(session) if session else call.session,
            "model": call.model,
            "tokens": _tokens(events),
            "denied": tuple(dict.fromkeys(declined)),
            "tool_calls": tuple(_calls(ended)),
        }
        if session is None and is_unusable_session(call, errors):
            return Outcome("gone", message=errors.strip(), **about)
        failures = [_message(one) for one in events if one.get("type") in ("turn.failed", "error")]
        # Without this event the output was cut off, even if the exit code is 0.
        completed = any(one.get("type") == "turn.completed" for one in events)
        if failures or code or not completed:
            said = failures[-1] if failures else ""
            kind = outage_of(said or errors)
            return Outcome(kind, "", said or errors, **about) if kind else crash(errors, code, said, **about)
        return answer(call, texts[-1] if texts else "", about)


def _item(event: dict[str, Any]) -> dict[str, Any]:
    found = event.get("item")
    return found if isinstance(found, dict) else {}


def _message(event: dict[str, Any]) -> str:
    error = event.get("error")
    return str((error if isinstance(error, dict) else event).get("message", ""))


def _tokens(events: list[dict[str, Any]]) -> int | None:
    used = [one.get("usage") for one in events if one.get("type") == "turn.completed"]
    counts = [
        number(one.get(kind)) or 0
        for one in used
        if isinstance(one, dict)
        for kind in ("input_tokens", "output_tokens")
    ]
    return int(sum(counts)) if counts else None


def _command(item: dict[str, Any]) -> str:
    """The command, without the shell that runs it."""
    text = str(item.get("command", ""))
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    # It reports `bash -lc 'make test'` for the command `make test`, which permissions and steps name.
    is_wrapped = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-lc")
    return words[2] if is_wrapped else text


def _calls(items: list[dict[str, Any]]) -> list[ToolCall]:
    found: list[ToolCall] = []
    for item in items:
        if item.get("type") == "command_execution" and isinstance(item.get("exit_code"), int):
            code, output = item["exit_code"], str(item.get("aggregated_output", ""))
            text = f"Exit code {code}\n{output}" if code else output
            found.append(ToolCall("shell", {"command": _command(item)}, text, bool(code)))
        elif item.get("type") == "mcp_tool_call":
            name, given, result = (
                f"{item.get('server')}.{item.get('tool')}",
                item.get("arguments"),
                item.get("result"),
            )
            failed = item.get("status") != "completed"
            content = result.get("content") if isinstance(result, dict) else None
            words = _message(item) if failed else content
            found.append(ToolCall(name, given if isinstance(given, dict) else {}, words, failed))
    return found
