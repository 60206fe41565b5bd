"""Fixes that take entries which nobody uses out of a mapping, and the mapping with them when none is left."""

from __future__ import annotations

from wfc.findings import Edit, Fix
from wfc.rules.shared.edits import remove_entry
from wfc.yaml import Entry, Mapping


def remove_entries(parent: Mapping, key: str, unwanted: list[Entry], noun: str) -> dict[str, Fix]:
    """For each unwanted entry of `parent[key]`, by its name, the fix that removes it, where there is one."""
    outer = parent.entry(key)
    # Of two entries of that key (WF002) the other one would come into its own.
    twice = sum(entry.key.text == key for entry in parent.entries) > 1
    if outer is None or not isinstance(outer.value, Mapping) or twice:
        return {}
    mapping = outer.value
    if len(unwanted) == len(mapping.entries):
        whole = remove_entry(parent, outer, f"remove {key}")
        fixes = [(entry.key.text, whole) for entry in unwanted]
    else:
        fixes = [
            (
                entry.key.text,
                with_comment(remove_entry(mapping, entry, f"remove the {noun} {entry.key.text}"), entry),
            )
            for entry in unwanted
        ]
    return {name: fix for name, fix in fixes if fix is not None}


def with_comment(fix: Fix | None, entry: Entry, *, blanks: bool = False) -> Fix | None:
    """Take the comment lines right above an entry along, since the next one must not inherit them.

    `blanks` takes the blank lines before as well, where it has its lines to itself.
    """
    span = fix.edits[0].span if fix else None
    if fix is None or span is None or span.column != 1:
        return fix
    source, line = span.source, span.line
    mark = " " * (entry.key.span.column - 1) + "#"
    while line > 1 and source.line(line - 1).startswith(mark):
        line -= 1
    while blanks and line > 1 and not source.line(line - 1).strip():
        line -= 1
    return Fix(fix.description, (Edit(source.span(source.line_starts[line - 1], span.end), ""),), fix.safe)
