"""A stand-in for an agent's command line that speaks as Claude Code does, and misbehaves as it is told.

What it does is in the prompt: `DO <word> [argument]` lines, one per call of the same session; the last one is for all
further calls. A file `orders` in the folder that `STUB_NOTES` names takes precedence. Each call is noted
in `calls.jsonl` there. It needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

NOTES = Path(os.environ.get("STUB_NOTES") or ".")
COST = 0.01


def option(name: str) -> str | None:
    words = sys.argv[1:]
    return words[words.index(name) + 1] if name in words else None


def put(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def tool(name: str, given: dict[str, Any], result: Any, is_error: bool = False) -> None:
    put(
        type="assistant",
        message={
            "id": f"m{name}",
            "content": [{"type": "tool_use", "id": f"t{name}", "name": name, "input": given}],
            "usage": {"input_tokens": 7, "output_tokens": 3},
        },
    )
    part = {"type": "tool_result", "tool_use_id": f"t{name}", "content": result, "is_error": is_error}
    put(type="user", message={"content": [part]})


def end(session: str, count: int, code: int = 0, **more: Any) -> None:
    found = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "result": "done",
        "session_id": session,
        # The cost of the whole session, as the real client reports it.
        "total_cost_usd": round(COST * count, 6),
        "usage": {"input_tokens": 80, "output_tokens": 20},
        "num_turns": 1,
        "permission_denials": [],
        **more,
    }
    put(**{key: value for key, value in found.items() if value is not None})
    sys.exit(code)


def main() -> None:
    prompt = sys.stdin.read()
    session = option("--resume") or option("--session-id") or "none"
    memory = NOTES / f"session-{session}.json"
    if option("--resume") and not memory.exists():
        print("No conversation found", file=sys.stderr)
        sys.exit(1)
    if (NOTES / "taken").exists():
        # As many ids as the file has characters belong to other conversations.
        left = (NOTES / "taken").read_text()[1:]
        (NOTES / "taken").write_text(left) if left else (NOTES / "taken").unlink()
        print(f"Error: Session ID {session} is already in use.", file=sys.stderr)
        sys.exit(1)
    known = json.loads(memory.read_text()) if memory.exists() else {"count": 0, "prompt": prompt}
    known["count"] += 1
    memory.write_text(json.dumps(known))
    with open(NOTES / "calls.jsonl", "a", encoding="utf-8") as calls:
        note = {
            "prompt": prompt,
            "arguments": sys.argv[1:],
            "pid": os.getpid(),
            "cwd": os.getcwd(),
            "env": dict(os.environ),
        }
        calls.write(json.dumps(note) + "\n")
    orders = re.findall(r"^\s*DO (.*)$", known["prompt"], re.M) or ["say done"]
    if (NOTES / "orders").exists():
        orders = (NOTES / "orders").read_text().splitlines()
    word, _, argument = orders[min(known["count"], len(orders)) - 1].partition(" ")
    servers = [{"name": argument, "status": "failed"}] if word == "server" else []
    put(type="system", subtype="init", session_id=session, model="stub-model", mcp_servers=servers)
    act(word, argument, session, known["count"])


def act(word: str, argument: str, session: str, count: int) -> None:
    match word:
        case "say":
            put(type="assistant", message={"content": [{"type": "text", "text": argument}]})
            end(session, count, result=argument)
        case "write":
            # A file in the folder that it works in; `.git` too.
            Path(argument).write_text("written\n", encoding="utf-8")
            end(session, count, result=f"wrote {argument}")
        case "remove":
            Path(argument).unlink()
            end(session, count, result=f"removed {argument}")
        case "hijack":
            # A repository of its own with a command that git would run, in the place of the real one.
            subprocess.run(["git", "init", "-q", "--bare", "evil"], check=True)
            command = f"touch {NOTES / 'owned'}"
            with open("evil/config", "a", encoding="utf-8") as config:
                config.write(f'[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "{command}"\n')
            Path(".git").write_text(f"gitdir: {Path('evil').absolute()}\n", encoding="utf-8")
            end(session, count, result="hijacked")
        case "give":
            tool("StructuredOutput", {}, "ok")
            end(session, count, structured_output=json.loads(argument))
        case "make":
            # A file, and a structured result.
            name, _, value = argument.partition(" ")
            Path(name).write_text("made\n", encoding="utf-8")
            end(session, count, structured_output=json.loads(value))
        case "wait":
            # Until a file appears, which the test makes.
            path = Path(argument)
            while not path.exists():
                time.sleep(0.02)
            end(session, count, result="waited")
        case "sleep" | "orphan":
            # A command in its own session, as the real client starts them.
            noted = f"open({str(NOTES / 'child')!r}, 'w').write(f'{{os.getpid()}}\\n')"
            text = f"import os, time; {noted}; time.sleep(1000)"
            subprocess.Popen([sys.executable, "-c", text], start_new_session=True)
            if word == "orphan":
                while not (NOTES / "child").exists() or not (NOTES / "child").read_text():
                    time.sleep(0.02)
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(1000)
        case "linger":
            # The result is there, but the process does not end.
            with suppress(SystemExit):
                end(session, count, result=argument)
            time.sleep(1000)
        case "limited":
            put(type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": int(argument)})
            more = {"is_error": True, "terminal_reason": "api_error", "api_error_status": 429}
            end(session, count, 1, result="You have reached your limit", **more)
        case "spend":
            # It costs something and does not end.
            tool("Read", {"file_path": "a"}, "text")
            (NOTES / "spending").touch()
            time.sleep(1000)
        case "ignore":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            (NOTES / f"ignoring-{os.getpid()}").touch()
            while True:
                time.sleep(1000)
        case "half":
            sys.stdout.write('{"type": "result", "subtype": "success", "is_err')
            sys.stdout.flush()
        case "die":
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            print("it broke", file=sys.stderr)
            sys.exit(int(argument))
        case "call":
            name, _, given = argument.partition(" ")
            tool(name, json.loads(given), [{"type": "text", "text": '{"number": 7}'}])
            end(session, count, result="I called it")
        case "broken-call":
            # The tool was called and failed.
            name, _, given = argument.partition(" ")
            tool(name, json.loads(given), "no such repository", is_error=True)
            end(session, count, result="I called it")
        case "unanswered-call":
            # The stream ends well, but does not show what the tool returned.
            name, _, given = argument.partition(" ")
            part = {"type": "tool_use", "id": "t", "name": name, "input": json.loads(given)}
            put(type="assistant", message={"id": "m", "content": [part]})
            end(session, count, result="I called it")
        case "quiet":
            tool("Bash", {"command": argument}, "(Bash completed with no output)")
            end(session, count, result="I ran it")
        case "result":
            # Any fields of the result line, and an exit code.
            fields = json.loads(argument)
            end(session, count, fields.pop("code", 0), **fields)
        case "server":
            end(session, count)
        case "flood":
            for number in range(int(argument)):
                put(
                    type="assistant",
                    message={"content": [{"type": "text", "text": f"{number} " + "x" * 1000}]},
                )
            end(session, count, result="flooded")


if __name__ == "__main__":
    main()
