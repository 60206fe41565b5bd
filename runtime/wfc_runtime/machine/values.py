"""Plain JSON values: their text, size and validity, and the limits of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from json import encoder
from typing import Any, Self

from wfc_runtime.contract import Json
from wfc_runtime.expr import DEFAULT_LIMITS, ExprLimits

# JSON text and sizes.

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SAMPLE: Json = {"text": 'ä\n"', "numbers": [1, 1.5, True, None], "empty": {}}


def _lasting_encoder() -> Callable[[Json], str]:
    """Like `_ENCODER.encode`, which creates a C encoder for each call: for small values that takes most of the time.

    Falls back to `_ENCODER.encode` if this Python has no such encoder, or a different one.
    """
    make: Callable[..., Callable[[Json, int], Iterable[str]]] | None
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return _ENCODER.encode
    try:
        pieces = make(None, _ENCODER.default, encoder.encode_basestring, None, ":", ",", False, False, False)
        is_same = "".join(pieces(_SAMPLE, 0)) == _ENCODER.encode(_SAMPLE)
    except TypeError:
        return _ENCODER.encode
    return (lambda value: "".join(pieces(value, 0))) if is_same else _ENCODER.encode


_encode = _lasting_encoder()


class NotPlainError(ValueError):
    """Why a value can't be stored, as the end of a sentence: "is 300,000 bytes; the limit is ..."."""


def to_text(value: Json) -> str:
    """The value as JSON text, as it is stored everywhere. Keys keep their order."""
    return _encode(value)


def size_of(value: Json) -> int:
    """The size of a value as JSON, in bytes."""
    if (
        type(value) is str
        # `isprintable` excludes control characters, which JSON escapes; quotes and backslashes are excluded
        # below.
        and value.isascii()
        and value.isprintable()
        and '"' not in value
        and "\\" not in value
    ):
        # The common case, such as a field name: nothing has to be escaped.
        return len(value) + 2
    return _bytes_in(to_text(value))


def _bytes_in(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


_MOST_PARTS = 1_000


def is_surely_within(value: Json, most: int) -> bool:
    """Whether a value is certainly at most this many bytes as JSON, judging by its lengths, without encoding it.

    False: it may be larger, contains non-ASCII text, or has so many parts that encoding it would be faster.
    """
    parts = [value]
    # The list grows while it is enumerated: a breadth-first walk without recursion.
    for count, part in enumerate(parts):
        kind = type(part)
        if kind is str:
            # In the worst case, every character is escaped as \u001f.
            most -= 6 * len(part) + 3 if part.isascii() else most + 1
        elif kind is dict:
            most -= 2 + 2 * len(part)
            parts += part
            parts += part.values()
        elif kind is list:
            most -= 2 + len(part)
            parts += part
        elif part is None or kind is bool or (kind is float and part - part == 0):
            # `part - part` is 0 for finite numbers only.
            most -= 30
        elif kind is int and part.bit_length() < _MOST_PARTS:
            most -= part.bit_length() // 3 + 3
        else:
            # This includes NaN and integers with thousands of digits, which can't be encoded at all.
            return False
        # The count bounds the work on wide values; encoding such a value is faster than looking at each part
        # here.
        if most < 0 or count > _MOST_PARTS:
            return False
    return True


def check_plain(value: Json, most_bytes: int, most_depth: int) -> int:
    """The size in bytes of an untrusted value. Raises `NotPlainError` if JSON or the limits forbid it."""
    return plain_text(value, most_bytes, most_depth)[1]


def plain_text(value: Json, most_bytes: int, most_depth: int) -> tuple[str, int]:
    """An untrusted value as JSON, and its size in bytes. Raises `NotPlainError` if JSON or the limits forbid it."""
    # The depth first, without recursion: the encoder would raise RecursionError.
    _check_depth(value, most_depth)
    try:
        text = to_text(value)
        size = _bytes_in(text)
    except UnicodeEncodeError:
        raise NotPlainError("contains half of a surrogate pair, which is not a character") from None
    except (TypeError, ValueError) as error:
        raise NotPlainError(f"is not plain JSON: {str(error)[:200]}") from None
    if size > most_bytes:
        raise NotPlainError(f"is {size:,} bytes; the limit is {most_bytes:,}")
    return text, size


def _check_depth(value: Json, most: int) -> None:
    level, depth = [value], 0
    # Level by level, so that the depth is known without recursion and the walk stops at the limit.
    while level := [inner for outer in level for inner in _inside(outer)]:
        depth += 1
        if depth > most:
            raise NotPlainError(f"is nested too deeply; the limit is {most} levels")


def _inside(value: Json) -> list[Json]:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise NotPlainError("has an object with a key that is not text")
        return [item for item in value.values() if isinstance(item, (dict, list, tuple))]
    if isinstance(value, (list, tuple)):
        return [item for item in value if isinstance(item, (dict, list, tuple))]
    return []


# Limits. The compiler checks what is known before a run; the machine checks the rest.


@dataclass(frozen=True)
class Limits:
    input_bytes: int = 256 * 1024
    result_bytes: int = 256 * 1024
    action_bytes: int = 256 * 1024
    state_bytes: int = 1024 * 1024
    served_bytes: int = 24 * 1024 * 1024
    """The result of an action that the server executed, such as files written by a command: no message contains it."""
    served_state_bytes: int = 64 * 1024 * 1024
    """The state of a run with such results."""
    derived_bytes: int = 1024 * 1024
    """The value of one derived field."""
    all_derived_bytes: int = 4 * 1024 * 1024
    """All derived fields of a run together, which do not count as state."""
    nesting: int = 100
    """Nested lists and objects in an untrusted value."""
    pending_actions: int = 50
    parallel_children: int = 100
    """Running children of a run; further ones are queued."""
    depth: int = 6
    """Nested runs, including the outermost: a call, or a foreach in a task, goes one level deeper. The compiler also
    allows five nested calls."""
    moves: int = 10_000
    """States entered while one event is processed; stops endless loops."""
    grace_seconds: float | None = None
    """None, except in runs that an earlier version started on Temporal. There, an action fails this long after its
    timeout, as it did when the history was recorded: a replay must give the same result."""
    misfits: int = 3
    """Invalid results that a step may get before it fails, if it has no `retry`."""
    expressions: ExprLimits = DEFAULT_LIMITS

    @property
    def served_expressions(self) -> ExprLimits:
        """The limits in a run with results of a server, which its expressions may read and pass on."""
        most = self.served_bytes
        return replace(self.expressions, text=most, output=most, value=most, room=4 * most)

    @classmethod
    def of(cls, settings: Mapping[str, int]) -> Self:
        """The default limits, overridden by those that a project sets."""
        values: dict[str, Any] = dict(settings)
        return replace(cls(), **values)
