"""What the inference finds wrong. Rules turn problems into findings; each rule knows its own kind."""

from __future__ import annotations

from enum import StrEnum

from wfc.infer.environment import Held
from wfc.structs import struct


class Kind(StrEnum):
    PROPERTY = "property"
    MISMATCH = "mismatch"
    NOT_A_LIST = "not a list"
    CONSTANT = "constant"
    DEAD_DEFAULT = "dead default"
    STRINGIFIED = "stringified"
    ZERO_DIVISION = "zero division"
    EMPTY_SPLIT = "empty split"
    NULLABLE = "nullable"
    UNCHECKED_PARSE = "unchecked parse"
    UNSET = "unset"


@struct(frozen=True)
class Change:
    """Text to put in the place of some characters of the template."""

    start: int
    end: int
    text: str


@struct(frozen=True)
class Problem:
    """One thing that is wrong, at characters start to end of a template."""

    kind: Kind
    start: int
    end: int
    message: str
    help: str = ""
    field: str | None = None
    """The state field that it comes from, where flow may say more about it."""
    sure: bool = True
    """Whether it goes wrong whenever it is come to, and not only for some values."""
    changes: tuple[Change, ...] = ()
    fix: str = ""
    """What the changes do, in a few words."""
    safe: bool = False
    held: tuple[Held, ...] = ()
    """The conditions of the template itself that hold at this place."""
