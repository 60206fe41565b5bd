"""Everything that `wfc explain` explains: the checks, and the step types of `wfc.language.reference`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.language.steps import STEP_TYPES
from wfc.rules import BY_CODE, RULES
from wfc.rules.base import Rule


def rule_data(rule: Rule) -> dict[str, Any]:
    """A check as plain data."""
    return {
        "kind": "check",
        "code": rule.code,
        "name": rule.name,
        "severity": str(rule.severity),
        "fix": rule.fix or None,
        "summary": rule.summary,
        "doc": rule.doc.strip(),
    }


def find_rule(topic: str) -> Rule | None:
    """A check by its code or its name."""
    wanted = topic.strip().lower().replace("_", "-")
    return BY_CODE.get(wanted.upper()) or next((rule for rule in RULES if rule.name == wanted), None)


def topics() -> Iterator[str]:
    """Everything that can be explained."""
    for rule in RULES:
        yield from (rule.code, rule.name)
    yield from STEP_TYPES
