"""The language of blocks, explained: what editors show and docs/blocks.md is made of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from inspect import cleandoc

from wfc.dialects.blocks.kinds import KINDS, OF_CALL
from wfc.dialects.blocks.results import STATES
from wfc.language.reference import FieldPage, fields_of

STATE_DOCS = dict(
    zip(
        STATES,
        (
            "bool: it ran, and what it did worked.",
            "bool: its command failed, or it crashed.",
            "bool: it did not run.",
            "str: `completed`, `skipped`, or `failed` where it crashed.",
            "str: `success`, `failure` of its command, or `n/a` where it did not run or crashed.",
        ),
        strict=True,
    )
)
"""What every block says of itself: `${blocks.build.succeeded}`."""


@dataclass(frozen=True)
class BlockPage:
    name: str
    doc: str
    fields: list[FieldPage]
    outputs: dict[str, str]
    """What it gives back: names with their types."""
    example: str

    @property
    def markdown(self) -> str:
        """In short: what it does, an example, and what it gives back."""
        parts = [self.doc, f"```yaml\n{self.example}```", f"Gives {self.gives}"]
        return "\n\n".join(parts)

    @property
    def gives(self) -> str:
        named = ", ".join(f"`{name}` ({kind})" for name, kind in self.outputs.items())
        return f"the outputs of that workflow, and {named}." if KINDS[self.name].is_open else f"{named}."


def block_page(name: str) -> BlockPage:
    """Raises `KeyError` for a type of block that there isn't."""
    kind = KINDS[name]
    needed = {field: one.example for field, one in kind.inputs.FIELDS.items() if one.required}
    inputs = ", ".join(f"{field}: {json.dumps(value)}" for field, value in needed.items())
    return BlockPage(
        name,
        cleandoc(kind.inputs.__doc__ or ""),
        fields_of(kind.inputs),
        OF_CALL if kind.is_open else {output: one.type for output, one in kind.outputs.items()},
        f"- id: example\n  type: {name}\n  inputs: {{{inputs}}}\n",
    )
