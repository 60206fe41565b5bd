"""Reference pages of the block types, for editors and docs/blocks.md."""

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
            "bool: it ran and succeeded.",
            "bool: its command failed, or the block crashed.",
            "bool: it did not run.",
            "str: `completed`, `skipped`, or `failed` if it crashed.",
            "str: `success`, `failure` if its command failed, or `n/a` if it did not run or crashed.",
        ),
        strict=True,
    )
)
"""How a block ended, as in `${blocks.build.succeeded}`."""


@dataclass(frozen=True, slots=True)
class BlockPage:
    name: str
    doc: str
    fields: list[FieldPage]
    outputs: dict[str, str]
    """Names with their types."""
    example: str

    @property
    def markdown(self) -> str:
        """The short form: the description, an example, and the outputs."""
        parts = [self.doc, f"```yaml\n{self.example}```", f"Outputs: {self.gives}"]
        return "\n\n".join(parts)

    @property
    def gives(self) -> str:
        named = ", ".join(f"`{name}` ({kind})" for name, kind in self.outputs.items())
        return f"the outputs of that workflow, and {named}." if KINDS[self.name].is_open else f"{named}."


def block_page(name: str) -> BlockPage:
    """Raises `KeyError` for an unknown type of block."""
    kind = KINDS[name]
    required = (*kind.inputs.REQUIRED, *kind.inputs.ONE_OF[:1])
    needed = {field: kind.inputs.FIELDS[field].example for field in required}
    inputs = ", ".join(f"{field}: {json.dumps(value)}" for field, value in needed.items())
    return BlockPage(
        name,
        cleandoc(kind.inputs.__doc__ or ""),
        fields_of(kind.inputs),
        OF_CALL if kind.is_open else {output: one.type for output, one in kind.outputs.items()},
        f"- id: example\n  type: {name}\n  inputs: {{{inputs}}}\n",
    )
