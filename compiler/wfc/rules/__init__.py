"""The checks, one file each. A new one is a file here and a line in `wfc.codes`; `common` has code that several of
them use."""

from __future__ import annotations

from importlib import import_module

from wfc.codes import CODES
from wfc.rules.base import Rule

RULES: tuple[Rule, ...] = tuple(import_module(f"wfc.rules.{name}").check for name in CODES.values())
"""Every rule, in the order of its code."""

BY_CODE: dict[str, Rule] = {rule.code: rule for rule in RULES}


def find_rule(topic: str) -> Rule | None:
    """A check by its code or its name."""
    wanted = topic.strip().lower().replace("_", "-")
    return BY_CODE.get(wanted.upper()) or next((rule for rule in RULES if rule.name == wanted), None)
