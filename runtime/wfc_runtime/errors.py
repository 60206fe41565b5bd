"""What can go wrong at run time. Each error has a code for programs, a message, and a hint: what to do.

WfcError
├── RequestError      an argument that can't be used: an id, inputs, a status
├── NotFoundError     no such run, workflow or field
├── RefusedError      the run is not waiting for this; it stays as it was
├── DefinitionError   a generated module that is missing, edited, broken, or no longer fits a run
├── SnapshotError     a snapshot that this version of wfc can't go on from
└── StoreError        the store can't be opened, read or written

StepError stays inside a machine: a step could not do its work, and retry, on_error or the run's end follow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def guess(name: object, known: Iterable[str]) -> str:
    """The beginning of a hint: which name may have been meant. Empty where none is near."""
    from difflib import get_close_matches  # only ever needed for a message

    near = get_close_matches(str(name), list(known), 1)
    return f"Did you mean `{near[0]}`? " if near else ""


class WfcError(Exception):
    """The base: everything that a caller of the runtime has to expect."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        stop = "" if self.message.endswith((".", "?", "!")) else "."
        return f"{self.message}{stop} {self.hint}" if self.hint else self.message


class RequestError(WfcError):
    """An argument that can't be used."""


class NotFoundError(WfcError):
    """There is nothing of that name."""


class RefusedError(WfcError):
    """An event that does not fit what the run waits for."""


class DefinitionError(WfcError):
    """A generated module that can't be used."""


class SnapshotError(WfcError):
    """A snapshot that can't be used."""


class StoreError(WfcError):
    """The store can't be used."""


def without_words(error: BaseException) -> str:
    """An exception of which nobody was to know, for logs: what and where. What it says may quote what was worked on."""
    from traceback import format_tb  # only ever needed for this

    return f"{type(error).__qualname__} at\n{''.join(format_tb(error.__traceback__))}"


class StepError(Exception):
    """A step could not do its work."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def record(self, step_id: str) -> dict[str, Any]:
        """As JSON, the way replies, results and history show it."""
        found = {"code": self.code, "message": self.message, "step_id": step_id}
        return {**found, "hint": self.hint} if self.hint else found
