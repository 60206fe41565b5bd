"""Validation rules of inputs that pydantic has no word for."""

from __future__ import annotations

from typing import Any

from pydantic import AfterValidator, BaseModel


def one_of(*allowed: Any) -> AfterValidator:
    """The value is one of these."""

    def check(value: Any) -> Any:
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            raise ValueError(f"must be one of {', '.join(map(repr, allowed))}")
        return value

    return AfterValidator(check)


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
