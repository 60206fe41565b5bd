"""The feed of changes on Temporal. Its visibility store has no order of changes, so lists are compared."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterable
from threading import Lock
from typing import Any

from wfc_runtime.errors import RequestError
from wfc_runtime.service.interface import Reply

LIST_EVERY, WATCH_EVERY = 2.0, 0.5
"""Seconds between two polls. The list lags by about a second anyway; a run that is displayed is queried directly."""
_KEPT = 1_000


class Feed:
    """The changes that this process has seen, numbered. Cursors of other processes lead to a resync."""

    def __init__(self) -> None:
        self.lock = Lock()
        self._name = secrets.token_hex(4)
        self._last = 0
        self._log: deque[tuple[int, dict[str, Any]]] = deque(maxlen=_KEPT)
        self._seen: dict[str, tuple[Any, ...]] = {}
        self._listed = self._watched = 0.0
        self._begun = False

    def list_is_due(self) -> bool:
        is_due = time.monotonic() >= self._listed + LIST_EVERY
        if is_due:
            self._listed = time.monotonic()
        return is_due

    def watch_is_due(self) -> bool:
        is_due = time.monotonic() >= self._watched + WATCH_EVERY
        if is_due:
            self._watched = time.monotonic()
        return is_due

    def compare(self, changes: Iterable[dict[str, Any]]) -> None:
        """Record the runs that have changed since they were last seen."""
        for change in changes:
            seen = (change["status"], tuple(change["pending"]), change["seq"])
            known = self._seen.get(change["run"])
            # A list does not know how many events a run has.
            if known is not None and (known == seen or (not change["seq"] and known[:2] == seen[:2])):
                continue
            self._seen[change["run"]] = seen
            if self._begun:
                self._last += 1
                self._log.append((self._last, change))

    def since(self, after: str | None) -> Reply:
        """The changes after a cursor, the last of each run."""
        self._begun = True
        reply: Reply = {"cursor": f"{self._name}-{self._last}", "changes": []}
        if after is None:
            return reply
        name, _, number = after.rpartition("-")
        if not number.isdecimal():
            raise RequestError(
                "invalid_cursor", "`after` is not a cursor of this call", "Use the one of its last reply."
            )
        oldest = self._log[0][0] if self._log else self._last + 1
        if name != self._name or int(number) > self._last or int(number) < oldest - 1:
            return {**reply, "resync": True}
        latest = {change["run"]: change for place, change in self._log if place > int(number)}
        return {**reply, "changes": list(latest.values())}
