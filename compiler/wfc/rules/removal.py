"""Fixes that take entries which nobody uses out of a mapping, and the mapping with them when none is left."""

from __future__ import annotations

from wfc.diagnostics import Fix
from wfc.rules.edits import remove_entry
from wfc.source import Entry, Mapping


def remove_entries(parent: Mapping, key: str, unwanted: list[Entry], noun: str) -> dict[str, Fix]:
    """For each unwanted entry of `parent[key]`, by its name, the fix that removes it, where there is one."""
    outer = parent.entry(key)
    if outer is None or not isinstance(outer.value, Mapping):
        return {}
    mapping = outer.value
    if len(unwanted) == len(mapping.entries):
        whole = remove_entry(parent, outer, f"remove {key}")
        fixes = [(entry.key.text, whole) for entry in unwanted]
    else:
        fixes = [
            (entry.key.text, remove_entry(mapping, entry, f"remove the {noun} {entry.key.text}"))
            for entry in unwanted
        ]
    return {name: fix for name, fix in fixes if fix is not None}
