"""Steps and inputs as plain data, defaults filled in: what is written differently and means the same is equal."""

from __future__ import annotations

from typing import Any

from wfc.core.inputs import InputDecl, Validation
from wfc.core.shape import Shape
from wfc.core.values import Literal, Text, Tree, Word
from wfc.diff.model import Detail
from wfc.steps.base import Step

_APART = ("id", "needs_state", "type")
"""Compared in their own way."""


def step_data(step: Step) -> dict[str, Any]:
    """The fields of a step, the steps inside it left out."""
    found: dict[str, Any] = {"type": step.kind}
    for name, field in step.FIELDS.items():
        value = step.values.get(name)
        if name in _APART or _holds_steps(value):
            continue
        data = to_plain(value) if value is not None else field.default
        if data is not None:
            found[name] = data
    return found


def _holds_steps(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(one, Step) or _holds_steps(one) for one in inner)


def to_plain(value: Any) -> Any:
    match value:
        case Text() | Tree():
            return value.data
        case Word():
            return value.text
        case Literal():
            return value.value
        case Shape():
            found = {name: to_plain(value.values[name]) for name in value.FIELDS if name in value.values}
            defaults = {name: field.default for name, field in value.FIELDS.items()}
            return {name: one for name, one in {**defaults, **found}.items() if one is not None}
        case dict():
            return {key: to_plain(one) for key, one in value.items()}
        case list():
            return [to_plain(one) for one in value]
    return value


def input_data(decl: InputDecl) -> dict[str, Any]:
    """An input's declaration; its rules in one place, wherever they stand."""
    found: dict[str, Any] = {"type": decl.kind, "required": decl.is_required}
    if "default" in decl.values:
        found["default"] = to_plain(decl.values["default"])
    for name in Validation.FIELDS:
        value = to_plain(decl.rule(name))
        if value is not None:
            found[name] = value
    if decl.description:
        found["description"] = decl.description.text
    return found


def differences(old: dict[str, Any], new: dict[str, Any]) -> tuple[Detail, ...]:
    return tuple(
        Detail(name, old.get(name), new.get(name))
        for name in dict.fromkeys([*old, *new])
        if _typed(old.get(name)) != _typed(new.get(name))
    )


def _typed(value: Any) -> Any:
    """Python takes true for 1; a workflow does not."""
    match value:
        case dict():
            return {key: _typed(one) for key, one in value.items()}
        case list():
            return [_typed(one) for one in value]
        case bool():
            return ("bool", value)
    return value
