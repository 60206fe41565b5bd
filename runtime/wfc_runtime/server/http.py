"""MCP over streamable HTTP and the page beside it, behind one shield."""

from __future__ import annotations

import hmac
import logging
from pathlib import Path

from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from wfc_runtime.interrupt import leave_on_interrupt
from wfc_runtime.page.app import page_app
from wfc_runtime.page.keys import Keys
from wfc_runtime.page.serving import HOST, TOKEN_VARIABLE, Address, HttpServer, bound, required_token
from wfc_runtime.page.shield import MCP_PATH, MOST_BYTES, Bounds, Shield, bounds_of, is_under
from wfc_runtime.server.app import build_server, load_secret
from wfc_runtime.server.changes import Changes
from wfc_runtime.server.context import Options, ServerContext

# Serving.


class BearerToken:
    """Accepts requests that have the token; refuses all others without details."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The start and the end of the application, which no client sends.
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
        else:
            await self._app(scope, receive, send)

    def _is_known(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Compared in constant time, so that the response time reveals nothing about the token.
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token)


class Beside:
    """MCP under its path, and the page everywhere else."""

    def __init__(self, mcp: ASGIApp, page: ASGIApp) -> None:
        self._mcp, self._page = mcp, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and not is_under(scope["path"], MCP_PATH)
        await (self._page if is_page else self._mcp)(scope, receive, send)


def serve_http(options: Options, address: Address, root: Path) -> None:
    """Serve MCP and the page. `root` is the folder of the project."""
    # Until uvicorn handles signals itself: a Ctrl-C during imports could get lost otherwise.
    leave_on_interrupt()
    token, origin = _token(options, address)
    # Bound before anything else is opened: a port that is taken must not leave a store open.
    with bound(address) as listener:
        actual = listener.getsockname()[1]
        context = ServerContext(options)
        context.start_working()
        # Keys that the token signed stay valid when this server is started again.
        keys = Keys(token, (token,))
        page, feed = page_app(context, keys, root)
        bounds, shown = bounds_of(actual, address.names), address.shown(actual)
        mcp = BearerToken(_app(context, options, bounds), token)
        announcement = (
            f"{address.warning}wfc: serving on http://{shown}{MCP_PATH}; bearer token: {origin}\n"
            f"wfc: page for people on http://{shown}/#key={keys.new_link()} (the link works once)"
        )
        app = Shield(Beside(mcp, page), bounds)
        try:
            HttpServer(app, announcement, feed.close, context.close).run(sockets=[listener])
        finally:
            context.close()


def _app(context: ServerContext, options: Options, bounds: Bounds) -> ASGIApp:
    """The application. Host and Origin are checked, so that no web page can reach the server through a browser."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=list(bounds.all_hosts),
        allowed_origins=[f"http://{HOST}:*", "http://localhost:*", *bounds.named_origins],
    )
    # By a filter on the SDK's logger, since the SDK logs before the application can react.
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_of_interest)
    server = build_server(context, options, Changes(options))
    return server.streamable_http_app(
        host=HOST, transport_security=security, max_request_body_size=MOST_BYTES
    )


def _is_of_interest(record: logging.LogRecord) -> bool:
    """Suppresses tracebacks for clients that disconnect in the middle of a request, which is not an error."""
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


def _token(options: Options, address: Address) -> tuple[str, str]:
    """The token, and where it comes from, for the message in the terminal."""
    given = required_token(address)
    if given is None:
        token = load_secret(options.state, "token")
        return token, f"{token} (stored in {options.state}.token)"
    return given, f"the one in {TOKEN_VARIABLE}"
