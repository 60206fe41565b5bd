"""A stand-in for codex, gemini and opencode: it prints the events that they document, as the prompt orders.

The first argument says which program it plays. `DO <word> [argument]` lines in the prompt say what it does, one for
each call of a session.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

NOTES = Path(os.environ["STUB_NOTES"])
KIND, *WORDS = sys.argv[1:]
REFUSALS = {
    "codex": "declined",
    "gemini": "Tool execution denied by policy",
    "opencode": "The user rejected permission",
}


def put(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def begin(session: str) -> None:
    if KIND == "codex":
        put(type="thread.started", thread_id=session)
        put(type="turn.started")
    elif KIND == "gemini":
        put(type="init", session_id=session, model="stub-model")
    else:
        put(type="step_start", sessionID=session, part={"type": "step-start"})


def say(session: str, text: str) -> None:
    if KIND == "codex":
        put(type="item.completed", item={"id": "1", "type": "agent_message", "text": text})
    elif KIND == "gemini":
        for part in (text[:3], text[3:]):
            put(type="message", role="assistant", content=part, delta=True)
    else:
        put(type="text", sessionID=session, part={"type": "text", "text": text})


def tool(session: str, name: str, given: dict[str, Any], result: str, refused: bool = False) -> None:
    if KIND == "codex" and name == "shell":
        item = {"type": "command_execution", "command": f"/bin/bash -lc {json.dumps(given['command'])}"}
        ended = {"status": "declined"} if refused else {"status": "completed", "exit_code": 0}
        put(type="item.completed", item={"id": "2", **item, "aggregated_output": result, **ended})
    elif KIND == "codex":
        server, _, called = name.partition(".")
        about = {"id": "2", "type": "mcp_tool_call", "server": server, "tool": called, "arguments": given}
        content = {"content": [{"type": "text", "text": result}]}
        put(type="item.completed", item={**about, "status": "completed", "result": content, "error": None})
    elif KIND == "gemini":
        put(type="tool_use", tool_name=name, tool_id="t", parameters=given)
        failed = {"status": "error", "error": {"type": "refused", "message": REFUSALS[KIND]}}
        put(
            type="tool_result",
            tool_id="t",
            **(failed if refused else {"status": "success", "output": result}),
        )
    else:
        ended = (
            {"status": "error", "error": REFUSALS[KIND]}
            if refused
            else {"status": "completed", "output": result}
        )
        part = {"type": "tool", "tool": name, "state": {"input": given, **ended}}
        put(type="tool_use", sessionID=session, part=part)


def end(session: str) -> None:
    if KIND == "codex":
        put(type="turn.completed", usage={"input_tokens": 80, "cached_input_tokens": 40, "output_tokens": 20})
    elif KIND == "gemini":
        put(
            type="result",
            status="success",
            stats={"total_tokens": 100, "input_tokens": 80, "output_tokens": 20},
        )
    else:
        tokens = {"input": 70, "output": 20, "reasoning": 10}
        put(type="step_finish", sessionID=session, part={"reason": "stop", "cost": 0.01, "tokens": tokens})


def fail(session: str, message: str) -> None:
    if KIND == "codex":
        put(type="turn.failed", error={"message": message})
    elif KIND == "gemini":
        put(type="result", status="error", error={"type": "Error", "message": message})
    else:
        put(type="error", sessionID=session, error={"name": "APIError", "data": {"message": message}})


def session_in(words: list[str]) -> str | None:
    """The session that the arguments continue."""
    option = {"codex": "resume", "gemini": "--resume", "opencode": "--session"}[KIND]
    return words[words.index(option) + 1] if option in words else None


def main() -> None:
    prompt = sys.stdin.read()
    number = len(list(NOTES.glob("session-*")))
    known = session_in(WORDS)
    new = WORDS[WORDS.index("--session-id") + 1] if "--session-id" in WORDS else f"ses-{number}"
    memory = NOTES / f"session-{known or new}"
    if known and not memory.exists():
        sys.exit(f"Error: session {known} not found")
    count, first = json.loads(memory.read_text()) if memory.exists() else (0, prompt)
    memory.write_text(json.dumps([count + 1, first]))
    with open(NOTES / "calls.jsonl", "a", encoding="utf-8") as calls:
        calls.write(json.dumps({"prompt": prompt, "arguments": WORDS}) + "\n")
    orders = re.findall(r"^\s*DO (.*)$", first, re.M) or ["say done"]
    word, _, argument = orders[min(count + 1, len(orders)) - 1].partition(" ")
    session = known or new
    begin(session)
    code = 0
    match word:
        case "say":
            tool(session, "read", {"path": "a"}, "text")
            say(session, argument)
            end(session)
        case "give":
            say(session, f"Here it is.\n\n```json\n{argument}\n```")
            end(session)
        case "silent":
            end(session)
        case "half":
            say(session, "I am not")
        case "fail":
            fail(session, argument)
            code = 1
        case "exit":
            say(session, "done")
            end(session)
            code = int(argument)
        case "call":
            name, _, given = argument.partition(" ")
            tool(session, name, json.loads(given), '{"number": 7}')
            say(session, "I called it")
            end(session)
        case "refused":
            tool(session, "shell" if KIND == "codex" else "bash", {"command": "rm x"}, "", refused=True)
            say(session, "I did it anyway")
            end(session)
    sys.exit(code)


if __name__ == "__main__":
    main()
