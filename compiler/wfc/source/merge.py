"""A mapping's keys: they must be text, and `<<` brings in the entries of other mappings."""

from __future__ import annotations

from wfc.source.nodes import Entry, Mapping, Node, Problem, Scalar, Sequence
from wfc.source.text import Span


def lost_alias(name: str, span: Span) -> Scalar:
    """What stands for an alias that means nothing; its problem has been reported."""
    return Scalar(span, "*" + name, None, "")


def to_entries(items: list[Node], problems: list[Problem]) -> list[Entry]:
    """Explicit entries in source order, then merged ones whose key is not there yet."""
    entries: list[Entry] = []
    merged: list[Node] = []
    for key, value in zip(items[::2], items[1::2], strict=True):
        if type(key) is not Scalar or key.value is None:
            problems.extend(_refuse_key(key))
        elif key.text == "<<" and not key.style:
            merged.append(value)
        else:
            entries.append(Entry(key, value))
    if merged:
        _merge(entries, merged, problems)
    return entries


def _merge(entries: list[Entry], values: list[Node], problems: list[Problem]) -> None:
    present = {entry.key.text for entry in entries}
    for value in values:
        for mapping in value.items if isinstance(value, Sequence) else [value]:
            if not isinstance(mapping, Mapping):
                problems.extend(_refuse_merge(mapping))
                continue
            for entry in mapping.entries:
                if entry.key.text not in present:
                    present.add(entry.key.text)
                    entries.append(entry)


def _refuse_key(key: Node) -> list[Problem]:
    if _is_lost_alias(key):
        return []
    if isinstance(key, Scalar):
        message = "a key cannot be empty or null"
        return [
            Problem(
                "syntax", message, key.span, help="write the name before the ':', in quotes if it is null"
            )
        ]
    kind = "mapping" if isinstance(key, Mapping) else "list"
    return [Problem("syntax", f"a key must be text, not a {kind}", key.span, help="put the key in quotes")]


def _refuse_merge(value: Node) -> list[Problem]:
    if _is_lost_alias(value):
        return []
    message = "'<<' merges a mapping or a list of mappings, and this is neither"
    return [Problem("syntax", message, value.span, help="name the anchor of a mapping: '<<: *defaults'")]


def _is_lost_alias(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None and node.text.startswith("*")
