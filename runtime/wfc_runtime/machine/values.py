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
    """As `_ENCODER.encode`, which builds its part in C anew for each value: most of the time of a small one goes there.

    A Python that has no such part, or another one, does it in the plain way.
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
    """Why a value can't be kept, to be read after its name: "is 300,000 bytes; the limit is ..."."""


def to_text(value: Json) -> str:
    """The one way in which values are written down. Keys keep their order."""
    return _encode(value)


def size_of(value: Json) -> int:
    """The bytes of a value, written down."""
    if (
        type(value) is str
        and value.isascii()
        and value.isprintable()
        and '"' not in value
        and "\\" not in value
    ):
        # Nothing in it is escaped: most often the name of a field.
        return len(value) + 2
    return _bytes_in(to_text(value))


def _bytes_in(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


_MOST_PARTS = 1_000


def is_surely_within(value: Json, most: int) -> bool:
    """Whether a value has at most so many bytes, as far as the lengths of its texts show without writing it down.

    False: it may be larger, has text other than ASCII, or has too many parts for this to be quicker than writing it.
    """
    parts = [value]
    for count, part in enumerate(parts):
        kind = type(part)
        if kind is str:
            # At worst, every character is escaped as \u001f.
            most -= 6 * len(part) + 3 if part.isascii() else most + 1
        elif kind is dict:
            most -= 2 + 2 * len(part)
            parts += part
            parts += part.values()
        elif kind is list:
            most -= 2 + len(part)
            parts += part
        elif part is None or kind is bool or (kind is float and part - part == 0):
            most -= 30
        elif kind is int and part.bit_length() < _MOST_PARTS:
            most -= part.bit_length() // 3 + 3
        else:
            # Among others NaN and integers of thousands of digits, which can't be written down at all.
            return False
        if most < 0 or count > _MOST_PARTS:
            return False
    return True


def check_plain(value: Json, most_bytes: int, most_depth: int) -> int:
    """The size in bytes of a value from outside. What JSON or the limits forbid is a `NotPlainError`."""
    return plain_text(value, most_bytes, most_depth)[1]


def plain_text(value: Json, most_bytes: int, most_depth: int) -> tuple[str, int]:
    """A value from outside as JSON, and its size in bytes. What JSON or the limits forbid is a `NotPlainError`."""
    _check_depth(value, most_depth)
    try:
        text = to_text(value)
        size = _bytes_in(text)
    except UnicodeEncodeError:
        raise NotPlainError("has text with half a surrogate pair, which stands for no character") from None
    except (TypeError, ValueError) as error:
        raise NotPlainError(f"is not plain JSON: {str(error)[:200]}") from None
    if size > most_bytes:
        raise NotPlainError(f"is {size:,} bytes; the limit is {most_bytes:,}")
    return text, size


def _check_depth(value: Json, most: int) -> None:
    level, depth = [value], 0
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


# Limits. The compiler checks what it can see; the machine checks the rest.


@dataclass(frozen=True)
class Limits:
    input_bytes: int = 256 * 1024
    result_bytes: int = 256 * 1024
    action_bytes: int = 256 * 1024
    state_bytes: int = 1024 * 1024
    served_bytes: int = 24 * 1024 * 1024
    """A result of what the server did by itself, such as the files that a command wrote: no message carries it."""
    served_state_bytes: int = 64 * 1024 * 1024
    """The state of a run with such results."""
    nesting: int = 100
    """Lists and objects inside each other in a value from outside."""
    pending_actions: int = 50
    parallel_children: int = 100
    """Children of a run at work at once; more are queued."""
    depth: int = 6
    """Runs inside each other, the outermost among them: a call, or a foreach in a task, goes one deeper. Five calls, as
    the compiler has it."""
    moves: int = 10_000
    """States entered while one event is worked through."""
    grace_seconds: float | None = None
    """None, except in runs that an earlier version started on Temporal. There, an action fails this long after its
    timeout, as it did when the recorded history was made: a replay must give the same result."""
    misfits: int = 3
    """How many results that do not fit a step may get before it fails, where its `retry` does not say."""
    expressions: ExprLimits = DEFAULT_LIMITS

    @property
    def served_expressions(self) -> ExprLimits:
        """Of a run with results of the server's own work, which its expressions may read and pass on."""
        most = self.served_bytes
        return replace(self.expressions, text=most, output=most, value=most, room=4 * most)

    @classmethod
    def of(cls, settings: Mapping[str, int]) -> Self:
        """The limits with those that a project sets."""
        values: dict[str, Any] = dict(settings)
        return replace(cls(), **values)
