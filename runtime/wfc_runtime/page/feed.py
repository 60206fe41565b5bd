"""Live updates: one thread asks the service what has changed, and only while somebody listens."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from threading import Event, Lock, Thread
from typing import Any

from wfc_runtime.errors import WfcError
from wfc_runtime.service import Reply, Service

# Polling one cursor is a single indexed query, so 20 times a second is cheap and looks immediate.
EVERY = 0.05
ALIVE_SECONDS = 15.0
# A browser tab in the background may read nothing for hours.
_MOST_QUEUED = 50
_WATCHED_SECONDS = 30.0
_MOST_WATCHED = 16
_RESYNC: Reply = {"resync": True, "changes": []}


class _Listener:
    """A stream. Events that a slow reader does not consume become one `resync`."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.queue: asyncio.Queue[Reply | None] = asyncio.Queue()

    def tell(self, reply: Reply | None) -> None:
        # Dropping single events would leave the page wrong; a `resync` makes it load everything again.
        if reply is not None and self.queue.qsize() >= _MOST_QUEUED:
            while not self.queue.empty():
                self.queue.get_nowait()
            reply = {**_RESYNC, "cursor": reply["cursor"]}
        self.queue.put_nowait(reply)


class ChangeFeed:
    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service
        self._listeners: set[_Listener] = set()
        self._watched: dict[str, float] = {}
        # `_starting` may be held while the service works, `_lock` only for a moment. `_starting` is always
        # taken first.
        self._lock = Lock()
        self._starting = Lock()
        self._stop = Event()
        self._thread: Thread | None = None

    def watch(self, run: str) -> None:
        """Somebody looks at a run: its changes matter more than those of others."""
        with self._lock:
            # Removed and added again: the dictionary is in order of use, and the oldest entry is dropped
            # first.
            self._watched.pop(run, None)
            self._watched[run] = time.monotonic()
            while len(self._watched) > _MOST_WATCHED:
                del self._watched[next(iter(self._watched))]

    async def stream(self, after: str | None) -> AsyncIterator[str]:
        """Server-sent events, each with the cursor to continue from as its id."""
        listener = _Listener()
        with self._lock:
            self._listeners.add(listener)
        try:
            # The listener and the cursor of the thread are set up first: a change in between is reported twice rather
            # than never.
            try:
                await asyncio.to_thread(self._begin)
                yield _event(await asyncio.to_thread(self._ask, after))
            except WfcError as error:
                yield _event({"error": error.message, "changes": [], "cursor": after or ""})
                return
            while True:
                try:
                    reply = await asyncio.wait_for(listener.queue.get(), ALIVE_SECONDS)
                except TimeoutError:
                    # A comment of the protocol: proxies close connections on which nothing is sent for long.
                    yield ": alive\n\n"
                    continue
                if reply is None:
                    return
                yield _event(reply)
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def close(self) -> None:
        """End every stream at once: a server that shuts down waits for them."""
        self._stop.set()
        self._tell(None)

    def _begin(self) -> None:
        """Start the thread, unless it runs."""
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                cursor = self._ask(None)["cursor"]
                self._thread = Thread(target=self._poll, args=(cursor,), name="wfc-feed", daemon=True)
                self._thread.start()

    def _ask(self, after: str | None) -> Reply:
        with self._lock:
            oldest = time.monotonic() - _WATCHED_SECONDS
            self._watched = {run: at for run, at in self._watched.items() if at >= oldest}
            watching = list(self._watched)
        return self._service().changes(after, watching=watching)

    def _poll(self, cursor: str) -> None:
        while not self._stop.wait(EVERY):
            # A stream that begins at this moment is either counted here or starts a new thread.
            with self._starting, self._lock:
                if not self._listeners:
                    self._thread = None
                    return
            try:
                reply = self._ask(cursor)
            except WfcError as error:
                # The store is busy or being replaced. Streams stay, and the page says since when nothing came.
                self._tell({"error": error.message, "changes": [], "cursor": cursor})
                self._stop.wait(1.0)
                continue
            if reply["changes"] or reply.get("resync") or reply.get("claims"):
                self._tell(reply)
            cursor = reply["cursor"]

    def _tell(self, reply: Reply | None) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            # The queues belong to the event loop of the server, and this runs in the thread of the feed.
            if not listener.loop.is_closed():
                listener.loop.call_soon_threadsafe(listener.tell, reply)


def _event(reply: dict[str, Any]) -> str:
    return f"id: {reply['cursor']}\ndata: {json.dumps(reply)}\n\n"
