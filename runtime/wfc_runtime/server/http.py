"""MCP over streamable HTTP: only on the loopback interface, and only for clients with the token."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import re
import socket
import sys

import h11
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from wfc_runtime.errors import RequestError
from wfc_runtime.interrupt import leave_on_interrupt
from wfc_runtime.server.app import build_server, load_secret
from wfc_runtime.server.changes import Changes
from wfc_runtime.server.context import Options, ServerContext

# Requests must arrive completely within seconds: a client that sends one byte now and then must not keep a
# connection open.

REQUEST_SECONDS = 10.0
"""For one mebibyte at most, from a client on the same machine."""


class RequestTimeoutProtocol(H11Protocol):
    """Closes a connection whose request does not arrive in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn gives it no other
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Set one deadline for the whole request, however many pieces it arrives in."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


# Serving.

HOST = "127.0.0.1"
TOKEN_VARIABLE = "WFC_TOKEN"
_MOST_BYTES = 1024 * 1024
"""Larger than any result that a run accepts."""
_SHORTEST_TOKEN = 16
_STOP_SECONDS = 2
# The SDK checks only the beginning of an origin, and only the first of several.
_LOCAL = re.compile(r"http://(?:127\.0\.0\.1|localhost):[0-9]{1,5}")


class BearerToken:
    """Accepts requests that have the token and do not come from a web page; refuses all others without details."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._is_known(headers):
            refusal = PlainTextResponse(
                "This server requires its bearer token.",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
            await refusal(scope, receive, send)
        elif not all(map(_LOCAL.fullmatch, headers.getlist("origin"))):
            await PlainTextResponse("Invalid Origin header", status_code=403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_known(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Compared in constant time, so that the response time reveals nothing about the token.
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token)


class HttpServer(uvicorn.Server):
    """Prints its address once it handles Ctrl-C itself, and closes the context when it shuts down."""

    def __init__(self, config: uvicorn.Config, context: ServerContext, announcement: str) -> None:
        super().__init__(config)
        self._context = context
        self._announcement = announcement

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self._announcement, file=sys.stderr, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        self._context.close()


def serve_http(options: Options, port: int) -> None:
    # Until uvicorn handles signals itself: a Ctrl-C during imports could get lost otherwise.
    leave_on_interrupt()
    token, origin = _token(options)
    with _bound(port) as listener:
        actual = listener.getsockname()[1]
        context = ServerContext(options)
        context.start_working()
        app = BearerToken(_app(context, options, actual), token)
        config = uvicorn.Config(
            app,
            http=RequestTimeoutProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        announcement = f"wfc: serving on http://{HOST}:{actual}/mcp; bearer token: {origin}"
        try:
            HttpServer(config, context, announcement).run(sockets=[listener])
        finally:
            context.close()


def _app(context: ServerContext, options: Options, port: int) -> ASGIApp:
    """The application. Host and Origin are checked, so that no web page can reach the server through a browser."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{HOST}:{port}", f"localhost:{port}"],
        allowed_origins=[f"http://{HOST}:*", "http://localhost:*"],
    )
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_of_interest)
    server = build_server(context, options, Changes(options))
    return server.streamable_http_app(
        host=HOST, transport_security=security, max_request_body_size=_MOST_BYTES
    )


def _is_of_interest(record: logging.LogRecord) -> bool:
    """Suppresses tracebacks for clients that disconnect in the middle of a request, which is not an error."""
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise RequestError(
            "port", f"{HOST}:{port} can't be used: {error.strerror}", "Choose another port with --port."
        ) from None
    return listener


def _token(options: Options) -> tuple[str, str]:
    """The token, and where it comes from, for the message in the terminal."""
    given = os.environ.get(TOKEN_VARIABLE)
    if given is None:
        token = load_secret(options.state, "token")
        return token, f"{token} (stored in {options.state}.token)"
    if len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable():
        raise RequestError(
            "token",
            f"{TOKEN_VARIABLE} must be {_SHORTEST_TOKEN} or more printable ASCII characters",
            "Unset it to use a generated one.",
        )
    return given, f"the one in {TOKEN_VARIABLE}"
