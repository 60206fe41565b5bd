"""Secrets, by what the documents say of them: values that are marked, and what is computed from one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.model.flow import Step, Tree

TOKEN = "tok-"
"""What the texts that must never be seen begin with."""


def secret_fields(scope: Tree, steps: list[Step]) -> set[str]:
    """Fields that are marked, and those that a set_state or the condition of a step computes from a secret."""
    inputs = {name for name, decl in scope["inputs"].items() if holds_secret(decl)}
    found = {step["output_to"] for step in steps if step.get("secret")}
    for step in steps:
        if step.get("secret") and step["type"] == "set_state":
            found |= set(step["updates"])
    updates = [(name, str(text), step) for step in steps for name, text in step.get("updates", {}).items()]
    updates = [(name, text, step) for name, text, step in updates if step["type"] == "set_state"]
    updates += [
        (step["output_to"], str(step["updates"]), step)
        for step in steps
        if step["type"] == "set_state" and "output_to" in step
    ]
    updates += [
        (step["output_to"], str(step["if"]), {"updates": {}})
        for step in steps
        if step["type"] == "condition" and "output_to" in step
    ]
    while new := {
        name for name, text, step in updates if name not in found and _reads(text, step, inputs, found)
    }:
        found |= new
    return found


def _reads(text: str, step: Step, inputs: set[str], fields: set[str]) -> bool:
    # A key that is called as one of these is not what the name stands for.
    siblings = (fields & set(step["updates"])) - {"state", "inputs"}
    return any(
        re.search(rf"(?<![\w.]){re.escape(place)}\b", hole)
        for hole in re.findall(r"\{\{(.*?)\}\}", text, re.DOTALL)
        for place in (
            *(f"inputs.{name}" for name in inputs),
            *(f"state.{name}" for name in fields),
            *siblings,
        )
    )


def holds_secret(decl: Tree) -> bool:
    inner = _properties(decl).values()
    return bool(decl.get("secret")) or any(map(holds_secret, inner))


def _properties(decl: Tree) -> dict[str, Tree]:
    found: dict[str, Tree] = decl.get("properties") or decl.get("validation", {}).get("properties") or {}
    return found


def secrets_in(declared: Tree, values: dict[str, Any]) -> Iterator[str]:
    """The texts of inputs that are marked."""
    for name, decl in declared.items():
        value = values.get(name)
        if decl.get("secret"):
            yield from texts_in(value)
        elif isinstance(value, dict):
            yield from secrets_in(_properties(decl), value)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)


def with_tokens(value: Any, number: int) -> Any:
    """The same value with texts that can be looked for."""
    if isinstance(value, str):
        return f"{TOKEN}{number:08d}"
    if isinstance(value, dict):
        return {key: with_tokens(one, number * 7 + place) for place, (key, one) in enumerate(value.items())}
    if isinstance(value, list):
        return [with_tokens(one, number * 7 + place) for place, one in enumerate(value)]
    return value
