"""Plain JSON: how it is written down, how large it is, and whether a value from outside is that at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from json import encoder

from wfc_runtime.contract import Json

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
    text = to_text(value)
    return len(text) if text.isascii() else len(text.encode())


def check_plain(value: Json, most_bytes: int, most_depth: int) -> int:
    """The size in bytes of a value from outside. What JSON or the limits forbid is a `NotPlainError`."""
    _check_depth(value, most_depth)
    try:
        size = size_of(value)
    except UnicodeEncodeError:
        raise NotPlainError("has text with half a surrogate pair, which stands for no character") from None
    except (TypeError, ValueError) as error:
        raise NotPlainError(f"is not plain JSON: {str(error)[:200]}") from None
    if size > most_bytes:
        raise NotPlainError(f"is {size:,} bytes; the limit is {most_bytes:,}")
    return size


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
