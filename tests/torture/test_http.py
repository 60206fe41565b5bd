"""Slow, silent and many: whoever keeps connections open keeps nobody else from the server."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.server.test_http import INITIALIZE, TOKEN, Endpoint
from tests.support import PATIENCE, wait_until

# The real server, but for its patience.
SERVES = """
import sys
import wfc_runtime.server.http
wfc_runtime.server.http.REQUEST_SECONDS = float(sys.argv[2])
from wfc.cli.main import main
sys.argv = ["wfc", "serve", "--http", "--port", "0", "--state", sys.argv[1]]
main()
"""
CUT_OFF = (BrokenPipeError, ConnectionResetError)
BODY = json.dumps(INITIALIZE).encode()


def serve(folder: Path, request_seconds: float) -> Iterator[Endpoint]:
    (folder / "pyproject.toml").write_text("[tool.wfc]\n")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVES, str(folder / "state.db"), str(request_seconds)],
        cwd=folder,
        env={**os.environ, "WFC_TOKEN": TOKEN},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        found = re.search(r":(\d+)/mcp", said)
        assert found is not None, said
        yield Endpoint(int(found[1]), said)
    finally:
        process.terminate()
        _, log = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in log


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One that waits for a request for as long as any test here does."""
    yield from serve(tmp_path_factory.mktemp("http"), 10 * PATIENCE)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One that waits for a second: on a busy machine it may also give up a request that was sent in time."""
    yield from serve(tmp_path_factory.mktemp("hasty"), 1.0)


def connect(endpoint: Endpoint) -> socket.socket:
    return socket.create_connection(("127.0.0.1", endpoint.port), timeout=PATIENCE)


def head(endpoint: Endpoint, length: int = len(BODY)) -> bytes:
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{endpoint.port}",
        f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def answered(endpoint: Endpoint) -> bool:
    return endpoint.post(Authorization=f"Bearer {TOKEN}")[0] == 200


def answered_in_the_end(hasty: Endpoint) -> bool:
    def is_answered() -> bool:
        with suppress(*CUT_OFF):
            return answered(hasty)
        return False

    return wait_until(is_answered, "an answer")


@pytest.mark.parametrize("stage", ["silent", "headers", "body"])
def test_a_request_that_does_not_come_is_given_up(hasty: Endpoint, stage: str) -> None:
    sent = {"silent": b"", "headers": head(hasty)[:40], "body": head(hasty) + BODY[:20]}[stage]
    with closing(connect(hasty)) as slow:
        slow.sendall(sent)
        assert slow.recv(1000) == b""
    assert answered_in_the_end(hasty)


def test_a_body_that_comes_byte_by_byte_is_given_up(hasty: Endpoint) -> None:
    with closing(connect(hasty)) as slow:
        slow.sendall(head(hasty, 1_000_000))
        with pytest.raises(CUT_OFF):  # noqa: PT012
            for _ in range(int(PATIENCE / 0.05)):
                slow.sendall(b"x")
                time.sleep(0.05)
    assert answered_in_the_end(hasty)


def test_many_open_connections_keep_nobody_out(endpoint: Endpoint) -> None:
    held = [connect(endpoint) for _ in range(150)]
    try:
        for number, one in enumerate(held):
            one.sendall((b"", head(endpoint)[:60], head(endpoint) + b"{")[number % 3])
        assert answered(endpoint)
    finally:
        for one in held:
            one.close()
    assert answered(endpoint)


def test_a_connection_is_kept_for_a_client_that_is_done_in_time(hasty: Endpoint) -> None:
    def is_kept() -> bool:
        """Three requests on one connection, the last past the deadline of the first, which has been answered."""
        with closing(connect(hasty)) as client, suppress(*CUT_OFF):
            for number in range(3):
                time.sleep(0.6 * bool(number))
                client.sendall(head(hasty) + BODY)
                answer = b""
                while not answer.endswith(b"0\r\n\r\n"):
                    if not (more := client.recv(65536)):
                        return False
                    answer += more
                assert answer.startswith(b"HTTP/1.1 200")
            return True
        return False

    # On a busy machine a request may come too late; a server that never keeps a connection fails every time.
    assert wait_until(is_kept, "a connection that is kept")


@pytest.mark.parametrize("length", ["-1", "abc", "99999999999999999999", "1, 2"])
def test_a_length_that_is_none_is_refused(endpoint: Endpoint, length: str) -> None:
    request = head(endpoint).replace(
        f"Content-Length: {len(BODY)}".encode(), f"Content-Length: {length}".encode()
    )
    with closing(connect(endpoint)) as client:
        client.sendall(request + BODY)
        assert re.match(rb"HTTP/1.1 4\d\d", client.recv(65536))
    assert answered(endpoint)


def test_headers_without_end_are_refused(endpoint: Endpoint) -> None:
    with closing(connect(endpoint)) as client:
        client.sendall(b"POST /mcp HTTP/1.1\r\n")
        with suppress(*CUT_OFF):
            for _ in range(1000):
                client.sendall(b"X-Filler: " + b"x" * 1000 + b"\r\n")
            # What is sent last may stay in buffers; the server closes the connection all the same.
            while client.recv(65536):
                pass
    assert answered(endpoint)


def test_a_huge_body_without_a_length_is_refused(endpoint: Endpoint) -> None:
    chunked = head(endpoint).replace(f"Content-Length: {len(BODY)}".encode(), b"Transfer-Encoding: chunked")
    with closing(connect(endpoint)) as client:
        client.sendall(chunked)
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(40):
                client.sendall(piece)
            client.sendall(b"0\r\n\r\n")
        except CUT_OFF:
            pass
        else:
            assert client.recv(65536).startswith(b"HTTP/1.1 413")
    assert answered(endpoint)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"null", b"[" * 10_000, b"\xff\xfe", b'{"jsonrpc": "2.0", "id": NaN}']
)
def test_a_body_that_is_no_message_is_refused(endpoint: Endpoint, body: bytes) -> None:
    status, text = endpoint.post(body, Authorization=f"Bearer {TOKEN}")
    assert 400 <= status < 500, text
    assert answered(endpoint)


def test_without_the_token_a_body_is_not_even_read(endpoint: Endpoint) -> None:
    with closing(connect(endpoint)) as client:
        client.sendall(head(endpoint, 1_000_000).replace(TOKEN.encode(), b"another"))
        assert client.recv(65536).startswith(b"HTTP/1.1 401")
