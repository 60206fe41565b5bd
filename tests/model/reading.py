"""Reading the tree of a workflow, and times as replies have them."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime
from math import ceil
from typing import Any

from tests.model.flow import Step, Tree


def all_steps(steps: list[Step]) -> Generator[Step, None, None]:
    for step in steps:
        yield step
        branches = step.get("branches", {}).values()
        for block in (step.get("then", []), step.get("else", []), step.get("steps", []), *branches):
            if isinstance(block, list):
                yield from all_steps(block)


def with_defaults(declared: Tree, given: dict[str, Any]) -> dict[str, Any]:
    """What is given, and the defaults of what is not, objects inside too. What has neither is null."""
    whole: dict[str, Any] = {}
    for name, decl in declared.items():
        value = whole[name] = given.get(name, decl.get("default"))
        properties = decl.get("properties") or decl.get("validation", {}).get("properties")
        if properties and isinstance(value, dict):
            declared_ones = with_defaults(properties, value)
            whole[name] = {
                **declared_ones,
                **{key: one for key, one in value.items() if key not in declared_ones},
            }
    return whole


def moment(at: float) -> str:
    return datetime.fromtimestamp(ceil(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
