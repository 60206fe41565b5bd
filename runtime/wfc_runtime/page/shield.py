"""The outermost layer of every HTTP server of wfc: which requests are let in, and the headers of every reply.

A page of another site can send requests to this server through the browser of its user. It can't read the token, and a
name of its own that leads to this machine (DNS rebinding) is not one of the hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1024 * 1024
"""Larger than any result that a run accepts."""
# SECURITY. Messages of workflows are untrusted text on this page. Even if some of it became markup, no
# script, style, form or connection to another site would be allowed.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "worker-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types lit-html wfc"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
SESSION, MCP_PATH = "/api/session", "/mcp"
_READS = ("GET", "HEAD")
# An MCP client in a browser on this machine has its own origin; the token is what lets it in.
_LOCAL = re.compile(r"http://(?:127\.0\.0\.1|localhost):[0-9]{1,5}")
_PORT = re.compile(r":[0-9]{1,5}\Z")
_TOO_LONG = (413, f"A request may have {MOST_BYTES:,} bytes.")
_JSON = re.compile(r"application/json(?:\s*;\s*charset=utf-8)?", re.IGNORECASE)


@dataclass(frozen=True)
class Bounds:
    """The requests that a server accepts."""

    hosts: tuple[str, ...]
    """The values of the Host header, with the port."""
    read_only: bool = False
    named: tuple[str, ...] = ()
    """Further values of the Host header, which the operator named. A proxy in front of the server may use TLS."""

    @property
    def all_hosts(self) -> tuple[str, ...]:
        return (*self.hosts, *self.named)

    @property
    def named_origins(self) -> tuple[str, ...]:
        return tuple(f"{scheme}://{host}" for host in self.named for scheme in ("http", "https"))

    @property
    def origins(self) -> tuple[str, ...]:
        return (*(f"http://{host}" for host in self.hosts), *self.named_origins)


def bounds_of(port: int, names: Iterable[str] = (), read_only: bool = False) -> Bounds:
    """Of a server on a port: the loopback names, and those of the operator with their own port, this one or none."""
    named = [
        spelt for name in names for spelt in ([name] if _PORT.search(name) else [name, f"{name}:{port}"])
    ]
    return Bounds((f"127.0.0.1:{port}", f"localhost:{port}"), read_only, tuple(named))


class Shield:
    """Refuses requests that no client of this server sends. Tokens are checked by the applications inside."""

    def __init__(self, app: ASGIApp, bounds: Bounds) -> None:
        self._app = app
        self._bounds = bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Startup and shutdown of the application.
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_page = not is_under(scope["path"], MCP_PATH)
        answer = _with_headers(send, scope["path"]) if is_page else send
        refusal = self._refusal(scope, Headers(scope=scope), is_page)
        if refusal is None and is_page and scope["method"] not in _READS:
            body = await _read(receive)
            refusal = _TOO_LONG if body is None else None
            receive = _given(body or b"", receive)
        if refusal is not None:
            await PlainTextResponse(refusal[1], status_code=refusal[0])(scope, receive, answer)
        else:
            await self._app(scope, receive, answer)

    def _refusal(self, scope: Scope, headers: Headers, is_page: bool) -> tuple[int, str] | None:
        writes = scope["method"] not in _READS
        # If there are several Host headers, programs differ in which one counts, so each of them must be
        # known.
        if headers.getlist("host") == [] or not all(
            one in self._bounds.all_hosts for one in headers.getlist("host")
        ):
            return 421, "This server does not have that name."
        if not self._is_known_origin(headers.getlist("origin"), is_page):
            return 403, "Invalid Origin header"
        if not is_page:
            return None
        # Trading the key of a link changes no run.
        if writes and self._bounds.read_only and scope["path"] != SESSION:
            return 405, "This server only shows runs."
        # Browsers set this header and pages can't change it. Clients other than browsers do not send it.
        if any(site != "same-origin" for site in headers.getlist("sec-fetch-site")) and writes:
            return 403, "Requests that change something must come from the page itself."
        # A page of another site can send form data or text without permission, but not JSON.
        if writes and not _JSON.fullmatch(headers.get("content-type", "")):
            return 415, "The content type must be application/json."
        if _length(headers) > MOST_BYTES:
            return _TOO_LONG
        return None

    def _is_known_origin(self, origins: Iterable[str], is_page: bool) -> bool:
        if is_page:
            return all(origin in self._bounds.origins for origin in origins)
        named = self._bounds.named_origins
        return all(origin in named or _LOCAL.fullmatch(origin) for origin in origins)


def is_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _length(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isdecimal() else 0


def _with_headers(send: Send, path: str) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            # The replies contain the state of runs, which the browser should not store.
            if is_under(path, "/api"):
                headers["Cache-Control"] = "no-store"
        await send(message)

    return answer


async def _read(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too long. A client need not tell its length beforehand."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            return None
    return body


def _given(body: bytes, receive: Receive) -> Receive:
    """The receive function of an application for a body that has already been read."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return parts.pop() if parts else await receive()

    return next_message
