"""Booleans and numbers as files of blocks have them: `required: no`, `timeout: "30"`.

The readers that such files were written for take both: YAML 1.1 has more words for true and false, and a text in the
place of a number is read as one. Only places that can hold nothing else are looked at; text elsewhere stays text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from wfc.dialects.blocks.kinds import AMOUNT, FLAG, MILLISECONDS, TIME
from wfc.dialects.blocks.meant import kind_of
from wfc.dialects.blocks.model import INPUT_TYPES
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence

TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
NUMBER = re.compile(r"-?\d+(\.\d+)?")
_OF_FILES = ("required", "unsafe")
Change = Callable[[Node], Node]


def with_plain_values(root: Mapping) -> Mapping:
    """The file with true, false and numbers where those belong."""
    changes: dict[str, Change] = {
        "inputs": lambda node: _each(node, _declaration),
        "blocks": lambda node: _items(node, _block),
    }
    entries = [
        Entry(one.key, changes[one.key.text](one.value) if one.key.text in changes else one.value)
        for one in root.entries
    ]
    return replace(root, entries=entries)


def _declaration(node: Node) -> Node:
    node = _at(node, ("required",), _boolean)
    kind = node.get("type") if isinstance(node, Mapping) else None
    is_flag = isinstance(kind, Scalar) and INPUT_TYPES.get(kind.text) == "boolean"
    return _at(node, ("default",), _boolean) if is_flag else node


def _block(node: Node) -> Node:
    node = _at(
        node, ("depends_on",), lambda waits: _items(waits, lambda one: _at(one, ("required",), _boolean))
    )
    node = _at(node, ("outputs",), lambda files: _each(files, lambda one: _at(one, _OF_FILES, _boolean)))
    known = kind_of(node) if isinstance(node, Mapping) else None
    if known is None:
        return node
    fields = known.inputs.FIELDS.items()
    flags = [name for name, field in fields if field.type is FLAG]
    amounts = [name for name, field in fields if field.type in (AMOUNT, TIME, MILLISECONDS)]
    return _at(node, ("inputs",), lambda given: _at(_at(given, flags, _boolean), amounts, _number))


def _boolean(node: Node) -> Node:
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.text.lower() in TRUTH:
        return replace(node, value=TRUTH[node.text.lower()])
    return node


def _number(node: Node) -> Node:
    if isinstance(node, Scalar) and isinstance(node.value, str) and NUMBER.fullmatch(node.text):
        return replace(node, value=float(node.text) if "." in node.text else int(node.text))
    return node


def _at(node: Node, names: Collection[str], change: Change) -> Node:
    """A mapping with some of its values changed."""
    if not isinstance(node, Mapping):
        return node
    entries = [
        Entry(one.key, change(one.value) if one.key.text in names else one.value) for one in node.entries
    ]
    return replace(node, entries=entries)


def _each(node: Node, change: Change) -> Node:
    return _at(node, [one.key.text for one in node.entries], change) if isinstance(node, Mapping) else node


def _items(node: Node, change: Change) -> Node:
    return replace(node, items=[change(one) for one in node.items]) if isinstance(node, Sequence) else node


def understood(root: Mapping) -> frozenset[int]:
    """Where words stand that have become true or false."""
    return frozenset(
        one.span.start
        for one in scalars_in(root)
        if isinstance(one.value, bool) and one.text.lower() in TRUTH and one.text not in ("true", "false")
    )


def scalars_in(node: Node | None) -> Iterator[Scalar]:
    match node:
        case Scalar():
            yield node
        case Sequence():
            for item in node.items:
                yield from scalars_in(item)
        case Mapping():
            for entry in node.entries:
                yield from scalars_in(entry.value)
