"""An HTTP server, on the loopback interface unless its operator names another address. It is bound before anything is
opened, and waits for no slow client."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from wfc_runtime.errors import RequestError

HOST = "127.0.0.1"
REQUEST_SECONDS = 10.0
"""For one mebibyte at most, from a client on the same machine."""
_STOP_SECONDS = 2
TOKEN_VARIABLE = "WFC_TOKEN"
_SHORTEST_TOKEN = 16


class RequestTimeoutProtocol(H11Protocol):
    """Closes a connection whose request does not arrive in time: a client that sends one byte now and then must not
    keep a connection open."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn gives it no other
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # The rest of the headers or of the body has not arrived yet.
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


class HttpServer(uvicorn.Server):
    """Prints its address once it handles Ctrl-C itself. `ending` is called before it waits for open connections."""

    def __init__(
        self, app: ASGIApp, announcement: str, ending: Callable[[], None], ended: Callable[[], None]
    ) -> None:
        config = uvicorn.Config(
            app,
            http=RequestTimeoutProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        super().__init__(config)
        self._announcement, self._ending, self._ended = announcement, ending, ended

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self._announcement, file=sys.stderr, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        await super().shutdown(sockets)
        self._ended()


@dataclass(frozen=True)
class Address:
    """Where a server listens, and the names by which clients may call it."""

    port: int
    host: str = HOST
    names: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        return self.host == HOST and not self.names

    def shown(self, port: int) -> str:
        """The authority of the server's URL, with the port that it got."""
        name = self.names[0] if self.names else HOST
        return name if name.rpartition(":")[2].isdecimal() else f"{name}:{port}"

    @property
    def warning(self) -> str:
        """The warning for a server that listens on more than the loopback interface."""
        if self.is_local:
            return ""
        return (
            f"wfc: listening on {self.host}: everyone who can reach it and has the token sees all runs, answers their "
            "questions and starts workflows. The connection is not encrypted: put a proxy with TLS in front.\n"
        )


def bound(address: Address) -> socket.socket:
    """A listening socket. Raises `RequestError` if the address can't be used."""
    try:
        family, kind, _, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise RequestError("host", f"{address.host} is not an address: {error.strerror}") from None
    listener = socket.socket(family, kind)
    # After a restart, connections of the previous server may still occupy the port.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(where)
        listener.listen()
    except OSError as error:
        listener.close()
        raise RequestError(
            "port",
            f"{address.host}:{address.port} can't be used: {error.strerror}",
            "Choose another port with --port.",
        ) from None
    return listener


def operator_token() -> str | None:
    """The token that the operator has set, if any."""
    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None and (len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable()):
        raise RequestError(
            "token",
            f"{TOKEN_VARIABLE} must be {_SHORTEST_TOKEN} or more printable ASCII characters",
            "Unset it to use a generated one.",
        )
    return given


def required_token(address: Address) -> str | None:
    """Like `operator_token`. Only a server on the loopback interface may do without: a generated token or a link in a
    terminal is not a secret to share with another machine."""
    token = operator_token()
    if token is None and not address.is_local:
        raise RequestError(
            "token",
            f"--host and --allow-host need a token of yours in {TOKEN_VARIABLE}",
            f"Set it to {_SHORTEST_TOKEN} or more printable ASCII characters that nobody can guess.",
        )
    return token
