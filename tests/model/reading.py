"""Reading the tree of a workflow, and times as replies have them."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime
from math import ceil
from typing import Any

from tests.model.flow import Step, Tree


def all_steps(steps: list[Step]) -> Generator[Step, None, None]:
    for some in lists_in(steps):
        yield from some


def lists_in(steps: list[Step]) -> Generator[list[Step], None, None]:
    """A list of steps, and those inside it."""
    yield steps
    for step in steps:
        branches = step.get("branches", {}).values()
        for block in (step.get("then", []), step.get("else", []), step.get("steps", []), *branches):
            if isinstance(block, list):
                yield from lists_in(block)


def leads_to(steps: list[Step], first: str, last: str) -> bool:
    """Whether both are in this list, the last one perhaps inside conditions."""
    return any(step["id"] == first for step in steps) and _has(steps, last)


def _has(steps: list[Step], name: str) -> bool:
    return any(
        step["id"] == name
        or (step["type"] == "condition" and any(_has(step.get(way, []), name) for way in ("then", "else")))
        for step in steps
    )


def as_graph(steps: list[Step], blocks: list[Tree]) -> list[Step]:
    """The steps of blocks, each of which begins as soon as those that it waits for have ended: not in waves."""
    after = {
        block["id"]: [one["block"] if isinstance(one, dict) else one for one in block.get("depends_on", ())]
        for block in blocks
    }
    branches: dict[str, list[Step]] = {}
    for step in steps[:-1]:
        if step["id"] in after:
            branches[step["id"]] = [step]
        elif "branches" in step and set(step["branches"]) <= set(after):
            branches |= step["branches"]
        else:
            return steps
    if set(branches) != set(after):
        return steps
    return [
        {"id": "graph", "type": "parallel", "join": "fail_fast", "branches": branches, "after": after},
        steps[-1],
    ]


def steps_in(scope: Tree) -> list[Step]:
    """The steps of a workflow or task, and those for its failure."""
    return [*scope["steps"], *scope.get("on_failure", ())]


def with_defaults(declared: Tree, given: dict[str, Any]) -> dict[str, Any]:
    """What is given, and the defaults of what is not, objects inside too. An input that has neither is null; a key
    inside an object is missing then."""
    whole: dict[str, Any] = {}
    for name, decl in declared.items():
        value = whole[name] = given.get(name, decl.get("default"))
        properties = decl.get("properties") or decl.get("validation", {}).get("properties")
        if properties and isinstance(value, dict):
            declared_ones = with_defaults(properties, value)
            whole[name] = {
                **{key: one for key, one in declared_ones.items() if key in value or one is not None},
                **{key: one for key, one in value.items() if key not in declared_ones},
            }
    return whole


def moment(at: float) -> str:
    return datetime.fromtimestamp(ceil(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
