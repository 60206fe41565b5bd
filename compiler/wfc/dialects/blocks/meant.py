"""The type of a block, also where it is misspelt and only one can be meant: the rest is read by it."""

from __future__ import annotations

from wfc.dialects.blocks.kinds import KINDS, Kind
from wfc.dialects.blocks.model import Block
from wfc.dialects.steps.meant_type import TYPE, meant_entry, meant_type
from wfc.yaml import Mapping, Scalar


def type_of(block: Mapping) -> Scalar | None:
    entry = block.entry(TYPE) or meant_entry(block.entries, KINDS, Block.FIELDS)
    return entry.value if entry and isinstance(entry.value, Scalar) else None


def kind_of(block: Mapping) -> Kind | None:
    named = type_of(block)
    return meant_type(named.text, KINDS) if named else None
