"""Errors at run time. Each has a code for programs, a message, a hint that says what to do, and for agents the call to
make next.

WfcError
├── RequestError      an invalid argument: an id, inputs, a status
├── NotFoundError     no such run, workflow or field
├── RefusedError      the run is not waiting for this event; it is unchanged
├── DefinitionError   a generated module that is missing, edited, broken, or no longer fits a run
├── SnapshotError     a snapshot that this version of wfc can't continue from
└── StoreError        the store can't be opened, read or written

StepError stays inside a machine: a step failed, and its retry, its on_error or the end of the run follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def guess(name: object, known: Iterable[str]) -> str:
    """The start of a hint with the name that was probably meant; empty if none is similar."""
    from difflib import get_close_matches  # only ever needed for a message

    near = get_close_matches(str(name), list(known), 1)
    return f"Did you mean `{near[0]}`? " if near else ""


class WfcError(Exception):
    """Base class: every error that a caller of the runtime has to expect."""

    def __init__(self, code: str, message: str, hint: str = "", next_call: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.next_call = next_call

    def __str__(self) -> str:
        stop = "" if self.message.endswith((".", "?", "!")) else "."
        more = " ".join(filter(None, (self.hint, self.next_call and f"Next: {self.next_call}")))
        return f"{self.message}{stop} {more}" if more else self.message


class RequestError(WfcError):
    """An invalid argument."""


class NotFoundError(WfcError):
    """Nothing has that name."""


class RefusedError(WfcError):
    """An event that the run is not waiting for."""


class DefinitionError(WfcError):
    """A generated module that can't be used."""


class SnapshotError(WfcError):
    """A snapshot that can't be used."""


class StoreError(WfcError):
    """The store can't be used."""


def without_words(error: BaseException) -> str:
    """An unexpected exception for logs: type and traceback, without its message, which may quote private data."""
    from traceback import format_tb  # only ever needed for this

    return f"{type(error).__qualname__} at\n{''.join(format_tb(error.__traceback__))}"


class StepError(Exception):
    """A step failed."""

    def __init__(
        self, code: str, message: str, hint: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        """`details`: of an expression that failed, its text, the offsets of the failing part and what it read."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details or {}

    def record(self, step_id: str) -> dict[str, Any]:
        """The error as JSON, in the form used by replies, results and history."""
        found = {"code": self.code, "message": self.message, "step_id": step_id, **self.details}
        return {**found, "hint": self.hint} if self.hint else found
