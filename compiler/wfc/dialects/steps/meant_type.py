"""The type that is meant where the key `type` or its value is misspelt, so that the rest is checked all the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from wfc.caching import cached
from wfc.suggest import only_near
from wfc.yaml import Entry, Scalar

TYPE = "type"
_LONGEST = 24
"""A longer word is no misspelt type, and comparing takes time."""
T = TypeVar("T")


def meant_entry(entries: list[Entry], types: Collection[str], fields: Collection[str]) -> Entry | None:
    """The one entry that must be the `type`, where no key is called so: nearly that name, and a type as its value."""
    if any(entry.key.text == TYPE for entry in entries):
        return None
    meant = [
        entry
        for entry in entries
        if isinstance(entry.value, Scalar)
        and entry.value.text in types
        and entry.key.text not in fields
        and _nearly(entry.key.text, (TYPE,))
    ]
    return meant[0] if len(meant) == 1 else None


def meant_type(name: str, types: Mapping[str, T]) -> T | None:
    """The type of that name, or the only one that is spelt nearly like it."""
    return types.get(name) or types.get(_nearly(name, tuple(types)) or "")


@cached(4096)
def _nearly(name: str, known: tuple[str, ...]) -> str | None:
    return only_near(name, known) if len(name) <= _LONGEST else None
