"""One line of the doctor's report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    part: str
    status: str
    """ok, note (fine, but could be better) or problem."""
    message: str
    help: str = ""


def good(part: str, message: str) -> Result:
    return Result(part, "ok", message)


def note(part: str, message: str, help: str) -> Result:
    return Result(part, "note", message, help)


def bad(part: str, message: str, help: str) -> Result:
    return Result(part, "problem", message, help)
