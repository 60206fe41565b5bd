"""An HTTP server on the loopback interface: bound before anything is opened, and patient with nobody."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from wfc_runtime.errors import RequestError

HOST = "127.0.0.1"
REQUEST_SECONDS = 10.0
"""For one mebibyte at most, from a client on the same machine."""
_STOP_SECONDS = 2


class RequestTimeoutProtocol(H11Protocol):
    """Closes a connection whose request does not arrive in time: a client that sends one byte now and then must not
    keep a connection open."""

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


def bound(port: int, host: str = HOST) -> socket.socket:
    """A listening socket. Raises `RequestError` if the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise RequestError(
            "port", f"{host}:{port} can't be used: {error.strerror}", "Choose another port with --port."
        ) from None
    return listener
