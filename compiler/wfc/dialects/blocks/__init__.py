"""Graphs of blocks: `blocks` that wait for each other by `depends_on`, and share results through `${...}`.

A file becomes a workflow of the steps language, and from there on nothing knows that it was one of blocks. Blocks
are sorted into waves: a block's wave is one after the latest of those that it waits for. A wave of one block is one
step; a wave of several is a `parallel` step with a region per block, so they really run side by side. Waves, and not
one region per block that waits for others inside it: a person reads a chart of waves from top to bottom, every
check of the core knows `parallel`, and the same flow written by hand as steps is the same chart.

A block that is skipped leaves its state field unset. So `blocks.b.skipped` is `state.b is not defined`, and what is
read of a block that may have been skipped has a default of its type. A block runs `when` all that it requires has
succeeded and its condition holds; what `depends_on` already ensures is left out of both. A command that fails is
data (`exit_code`). A block that crashes fails its step, and with it the run: at once, unless another block comes after
it and can run without it. Then the step has `on_error: defer`: the run goes on, and fails at its end. Where blocks ask
how such a one ended, and it may have been skipped as well, a step before it notes that it is tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wfc.dialects.base import Dialect
from wfc.yaml import Mapping, Node, Source

if TYPE_CHECKING:
    from wfc.dialects.editing import OpenFile, Part, StepUse, Suggestion
    from wfc.language.dialect import Parsed
    from wfc.language.shape import Shape


class BlocksDialect(Dialect):
    """Its modules are imported on first use: most projects have no such file."""

    name = "blocks"

    def matches(self, root: Mapping) -> bool:
        return root.entry("blocks") is not None and root.entry("steps") is None

    def parse(self, root: Mapping) -> Parsed:
        from wfc.dialects.blocks.translate import parse_blocks

        return parse_blocks(root)

    def schema(self) -> dict[str, Any]:
        from wfc.dialects.blocks.schema import blocks_schema

        return blocks_schema()

    def complete(self, file: OpenFile, text: str, offset: int) -> Iterable[Suggestion]:
        from wfc.dialects.blocks import editing

        return editing.complete(file, text, offset)

    def page(self, shape: Shape, kind: str) -> str:
        from wfc.dialects.blocks.file import Block
        from wfc.dialects.blocks.kinds import KINDS
        from wfc.dialects.blocks.reference import block_page

        return block_page(kind).markdown if isinstance(shape, Block) and kind in KINDS else ""

    def step_uses(self, parsed: Parsed, root: Node | None) -> Iterable[StepUse]:
        from wfc.dialects.blocks import editing
        from wfc.dialects.blocks.file import BlocksFile

        return editing.step_uses(parsed.surface, root) if isinstance(parsed.surface, BlocksFile) else ()

    def part_at(self, source: Source, offset: int) -> Part | None:
        from wfc.dialects.blocks import editing

        return editing.part_at(source, offset)
