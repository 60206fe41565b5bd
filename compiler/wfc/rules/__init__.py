"""The checks, one file each. A new one is a file here and a line in this list."""

from __future__ import annotations

from importlib import import_module

from wfc.rules.base import Rule

_MODULES = (
    "yaml_syntax",
    "unknown_field",
    "field_not_allowed",
    "needs_state_missing",
    "stale_output",
    "edited_output",
)

RULES: tuple[Rule, ...] = tuple(import_module(f"wfc.rules.{name}").check for name in _MODULES)
"""Every rule, in the order of its code."""

BY_CODE: dict[str, Rule] = {rule.code: rule for rule in RULES}
