"""A stand-in for the model: an HTTP server on loopback that answers Messages API requests from a script.

A script is a function from one request to the content blocks of the answer. It sees the whole conversation, so it can
decide by what the client has put into it: tool results, feedback of hooks, text of commands.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Request:
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Everything that the model reads, as JSON text."""
        return json.dumps([self.body.get("system"), self.body.get("messages")], ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", [])]

    @property
    def results(self) -> list[str]:
        """The texts of all tool results so far, oldest first, without those of waiting for the server."""
        found = []
        for message in self.body.get("messages", []):
            content = message["content"]
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_result":
                    inner = block.get("content", "")
                    parts = inner if isinstance(inner, list) else [{"text": inner}]
                    text = "".join(part.get("text", "") for part in parts)
                    if _MISSING not in text and block.get("tool_use_id") not in _waits:
                        found.append(text)
        return found

    @property
    def lacks_server(self) -> bool:
        """Whether the last call named a tool of a server that has not connected yet."""
        last = (self.body.get("messages") or [{}])[-1]
        return last.get("role") == "user" and _MISSING in json.dumps(last.get("content"))


_MISSING = "No such tool available"
_waits: set[str] = set()
"""The calls that only wait."""
Script = Callable[[Request], list[Block]]


def say(text: str) -> Block:
    return {"type": "text", "text": text}


def use(name: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "id": f"toolu_{next(_numbers):08d}", "name": name, "input": arguments}


def wait_for_server(_: Request) -> list[Block]:
    """A script for a server that has not connected yet, which takes long on a busy machine."""
    made = use("Bash", command="sleep 3", description="Wait for the server")
    _waits.add(made["id"])
    return [made]


@contextmanager
def serve(script: Script) -> Iterator[tuple[str, list[Request]]]:
    """The address of the model, and the requests that it has seen."""
    seen: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self.path.partition("?")[0].endswith("/count_tokens"):
                self._send("application/json", json.dumps({"input_tokens": len(data) // 4}))
                return
            request = Request(json.loads(data))
            # Titles and summaries are asked for without tools; they are no part of the conversation.
            answer = wait_for_server if request.lacks_server else script
            blocks = answer(request) if request.tools else [say("ok")]
            if request.tools:
                seen.append(request)
            if request.body.get("stream"):
                self._send("text/event-stream", "".join(_events(blocks)))
            else:
                self._send("application/json", json.dumps({**_message(blocks), "content": blocks}))

        def do_GET(self) -> None:
            self._send("application/json", json.dumps({"data": [], "has_more": False}))

        def do_HEAD(self) -> None:
            self._send("application/json", "")

        def _send(self, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()


def _message(blocks: list[Block]) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_{next(_numbers):08d}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _events(blocks: list[Block]) -> Iterator[str]:
    message = _message(blocks)
    yield _event("message_start", message={**message, "stop_reason": None})
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=start)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    reason = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=reason, usage={"output_tokens": 1})
    yield _event("message_stop")


def _event(kind: str, **data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"
