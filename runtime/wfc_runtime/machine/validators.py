"""Validation rules of inputs that pydantic has no word for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic import AfterValidator, BaseModel, BeforeValidator


def one_of(*allowed: Any) -> AfterValidator:
    """The value is one of these."""

    def check(value: Any) -> Any:
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            raise ValueError(f"must be one of {', '.join(map(repr, allowed))}")
        return value

    return AfterValidator(check)


def lenient(kind: str) -> BeforeValidator:
    """Text that says a number, true, false, a list or an object is taken for that, and a number for text."""
    return BeforeValidator(_READERS[kind])


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def _integer(value: Any) -> Any:
    number = _number(value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _boolean(value: Any) -> Any:
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in ("true", "yes", "1") else False if word in ("false", "no", "0") else value


def _json(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "array": _json,
    "object": _json,
}


def with_keys(*keys: str) -> AfterValidator:
    """The object has these keys."""

    def check(value: Any) -> Any:
        present = (
            value.model_dump(by_alias=True, exclude_unset=True) if isinstance(value, BaseModel) else value
        )
        missing = [key for key in keys if key not in present]
        if missing:
            raise ValueError(f"must have {', '.join(map(repr, missing))}")
        return value

    return AfterValidator(check)
