"""Over HTTP: on the loopback interface only, for whoever has the token."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import BlockingPortal
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult

from tests.forks import command
from tests.server.conftest import make_place
from tests.server.driver import ERAS, Agent, Place
from tests.support import PATIENCE

TOKEN = "a-token-that-nobody-guesses"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "probe", "version": "1"},
    },
}


@dataclass(frozen=True)
class Endpoint:
    port: int
    said: str

    def post(self, body: bytes | None = None, **headers: str) -> tuple[int, str]:
        """One request with just these headers, beside those that every client sends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = json.dumps(INITIALIZE).encode() if body is None else body
        try:
            connection.request("POST", "/mcp", content, {**sent, **named})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()


def serve(place: Place, token: str | None = TOKEN) -> Iterator[Endpoint]:
    env = {key: value for key, value in os.environ.items() if key != "WFC_TOKEN"}
    process = subprocess.Popen(
        command("serve", "--state", place.state, "--elicit", "--http", "--port", "0"),
        cwd=place.folder,
        env={**env, "WFC_TOKEN": token} if token else env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", said)
        assert found is not None, said + process.stderr.read()
        yield Endpoint(int(found[1]), said)
    finally:
        process.terminate()
        out, log = process.communicate(timeout=PATIENCE)
    assert out == ""
    assert "Traceback" not in log


@pytest.fixture(scope="module")
def endpoint(
    tmp_path_factory: pytest.TempPathFactory, portal: BlockingPortal, modules: dict[str, str]
) -> Iterator[Endpoint]:
    yield from serve(make_place(tmp_path_factory.mktemp("http"), portal, modules))


def test_with_the_token_a_request_is_answered(endpoint: Endpoint) -> None:
    status, text = endpoint.post(Authorization=f"Bearer {TOKEN}")
    assert status == 200
    assert '"serverInfo"' in text
    assert TOKEN not in endpoint.said


def test_without_the_token_or_with_another_one_nothing_is_said(endpoint: Endpoint) -> None:
    assert endpoint.post()[0] == 401
    for wrong in ("Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer ", "Bearer ümläut"):
        status, text = endpoint.post(Authorization=wrong.encode().decode("latin-1"))
        assert status == 401
        assert "wfc" not in text


def test_a_request_for_another_host_is_refused(endpoint: Endpoint) -> None:
    for host in ("evil.example", f"evil.example:{endpoint.port}", "127.0.0.1.evil.example", "localhost:1"):
        assert endpoint.post(Authorization=f"Bearer {TOKEN}", Host=host)[0] == 421
    assert endpoint.post(Authorization=f"Bearer {TOKEN}", Host=f"localhost:{endpoint.port}")[0] == 200


def test_a_request_from_a_web_page_is_refused(endpoint: Endpoint) -> None:
    for origin in (
        "https://evil.example",
        "null",
        f"http://evil.example:{endpoint.port}",
        "http://localhost:1.evil.example",
        "http://127.0.0.1:80@evil.example",
        "http://localhost:1, https://evil.example",
    ):
        assert endpoint.post(Authorization=f"Bearer {TOKEN}", Origin=origin)[0] == 403
    assert endpoint.post(Authorization=f"Bearer {TOKEN}", Origin="http://localhost:6274")[0] == 200


def test_a_huge_body_is_refused_before_it_is_read(endpoint: Endpoint) -> None:
    status, _ = endpoint.post(b"x" * (2 * 1024 * 1024), Authorization=f"Bearer {TOKEN}")
    assert status == 413
    assert endpoint.post(Authorization=f"Bearer {TOKEN}")[0] == 200


@asynccontextmanager
async def connected(
    endpoint: Endpoint, mode: str, on_form: ElicitationFnT | None = None
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as web:
        transport = streamable_http_client(f"http://127.0.0.1:{endpoint.port}/mcp", http_client=web)
        async with Client(transport, mode=mode, elicitation_callback=on_form) as client:
            yield client


@pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)
def test_a_client_with_the_token_works_a_run(endpoint: Endpoint, portal: BlockingPortal, mode: str) -> None:
    with portal.wrap_async_context_manager(connected(endpoint, mode)) as client:
        agent = Agent(client, portal, Path(), Path())
        run = agent.call("start_workflow", workflow="greet", inputs={"name": "root"})["workflow_id"]
        assert agent.call("get_workflow_status", workflow_id=run)["action"]["step_id"] == "look-up"
        history = json.loads(agent.read(f"wfc://runs/{run}/history"))
        assert history["events"][0]["actor"].startswith("session:" if mode == "legacy" else "mcp:")


@pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)
def test_the_person_is_asked_over_http_too(endpoint: Endpoint, portal: BlockingPortal, mode: str) -> None:
    async def on_form(context: Any, params: ElicitRequestParams) -> ElicitResult:
        if params.message == "Which colour?":
            return ElicitResult(action="decline")
        return ElicitResult(
            action="accept", content={"acknowledged": True, "confirmed": True, "input": "pear"}
        )

    with portal.wrap_async_context_manager(connected(endpoint, mode, on_form)) as client:
        reply = Agent(client, portal, Path(), Path()).call("start_workflow", workflow="ask-all")
    assert reply["answered_by_person"] == ["tell", "agree", "name"]
    assert reply["action"]["step_id"] == "colour"


def test_a_token_is_made_once_told_on_stderr_and_kept_for_its_owner_only(place: Place) -> None:
    kept = place.state.with_name("state.db.token")
    tokens = []
    for endpoint in serve(place, token=None):
        token = kept.read_text(encoding="ascii").strip()
        assert token in endpoint.said
        assert len(token) >= 32
        assert kept.stat().st_mode & 0o777 == 0o600
        assert endpoint.post(Authorization=f"Bearer {token}")[0] == 200
        tokens.append(token)
    for endpoint in serve(place, token=None):
        assert endpoint.post(Authorization=f"Bearer {tokens[0]}")[0] == 200
