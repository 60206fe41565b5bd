"""A page as a process of its own, and a client that sends just the headers that a test names."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forks import command
from tests.support import PATIENCE

TOKEN = "a-token-that-nobody-guesses"


@dataclass
class Page:
    port: int
    link: str
    """The key in the link that was printed."""
    process: subprocess.Popen[str]
    key: str = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self, method: str, path: str, body: bytes | Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """One request with these headers and no others."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, content, headers or {})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return response.status, found, response.read()
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        status, _, body = self.send("GET", path, headers={**self.own, **_named(headers)})
        return status, json.loads(body)

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        sent = {**self.own, "Content-Type": "application/json", **_named(headers)}
        status, found, content = self.send("POST", path, body, sent)
        return status, json.loads(content) if "json" in found.get("content-type", "") else content.decode()

    @property
    def own(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def trade(self) -> None:
        status, reply = self.post("/api/session", {"key": self.link})
        assert status == 200, reply
        self.key = reply["key"]


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@contextmanager
def serving(
    folder: Path,
    *options: str,
    port: int = 0,
    serve: bool = False,
    forked: bool = True,
    token: str | None = None,
) -> Iterator[Page]:
    """`wfc ui`, or `wfc serve --http`, on the store of a folder. A server that is to be killed is not `forked`."""
    env = {**os.environ, "WFC_TOKEN": TOKEN} if serve or token else dict(os.environ)
    words = ("serve", "--http") if serve else ("ui", "--no-open")
    arguments = (*words, "--state", str(folder / ".wfc" / "state.db"), "--port", str(port), *options)
    process = subprocess.Popen(
        command(*arguments) if forked else [sys.executable, "-m", "wfc", *arguments],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    try:
        said = "".join(process.stderr.readline() for _ in range(1 + serve + (token is not None)))
        found = re.search(r"http://[^/\s]+:(\d+)/#key=(\S+)", said)
        assert found is not None, said + process.stderr.read()
        page = Page(int(found[1]), found[2], process)
        page.trade()
        yield page
    finally:
        if process.poll() is None:
            process.terminate()
        out, log = process.communicate(timeout=PATIENCE)
    assert out == ""
    assert "Traceback" not in log, log
