"""Changes of a part of a field, as the documents of the language say them."""

from __future__ import annotations

import copy
from typing import Any

from tests.model.flow import FailError

Made = tuple[list[Any], str, Any]
"""A path, an operation, and its value; all of them computed."""


class Changed(dict[str, Any]):
    """The fields that changes leave, and the changes."""

    made: list[Made]


def changed(state: dict[str, Any], changes: list[Made]) -> Changed:
    """The fields that changes leave, all of them or none."""
    after = copy.deepcopy(state)
    for path, operation, value in changes:
        _change(after, path, operation, value)
    left = Changed(
        {name: value for name, value in after.items() if name not in state or state[name] != value}
    )
    left.made = changes
    return left


def path_of(place: Any) -> list[Any]:
    """A field, or a list of a field and the keys inside it."""
    return place if isinstance(place, list) else [place]


def _change(holder: Any, path: list[Any], operation: str, value: Any) -> None:
    key, rest = path[0], path[1:]
    there = _at(holder, key)
    if rest:
        if there is None:
            there = {}
            _put(holder, key, there)
        _change(there, rest, operation, value)
    else:
        _put(holder, key, _result(there, operation, value))


def _at(holder: Any, key: Any) -> Any:
    if isinstance(holder, dict):
        return holder.get(str(key))
    if isinstance(holder, list) and isinstance(key, int) and 0 <= key <= len(holder):
        return holder[key] if key < len(holder) else None
    raise FailError("change")


def _put(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, dict):
        holder[str(key)] = value
    elif key == len(holder):
        holder.append(value)
    else:
        holder[key] = value


def _result(there: Any, operation: str, value: Any) -> Any:
    match operation:
        case "set":
            return value
        case "append" if there is None or isinstance(there, list):
            return [*(there or []), value]
        case "merge" if (there is None or isinstance(there, dict)) and isinstance(value, dict):
            return {**(there or {}), **value}
        case "increment" | "decrement" | "multiply":
            number = 0 if there is None else there
            by = 1 if value is None and operation != "multiply" else value
            if all(isinstance(one, int | float) and not isinstance(one, bool) for one in (number, by)):
                return {
                    "increment": lambda: number + by,
                    "decrement": lambda: number - by,
                    "multiply": lambda: number * by,
                }[operation]()
    raise FailError("change")
