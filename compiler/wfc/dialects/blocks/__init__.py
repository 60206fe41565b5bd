"""Graphs of blocks: `blocks` that wait for each other by `depends_on`, and share results through `${...}`.

A file is translated to a workflow of the steps language. Blocks are sorted into waves: the wave of a block follows
the latest wave of the blocks that it waits for. A wave of one block becomes one step, a wave of several becomes a
`parallel` step with a branch for each block. Checks look at that: it is one possible order, and every check of the core
knows `parallel`. A run does not wait for whole waves: `wfc.lower.schedule` splits them for the generated module,
where a block begins when the blocks that it depends on have ended.

A skipped block leaves its state field unset. So `blocks.b.skipped` becomes `state.b is not defined`, and a read of a
block that may have been skipped gets a default of its type. The `when` of a step says that the required blocks have
succeeded and that the block's condition holds, without the parts that `depends_on` already ensures.

A command that fails is data (`exit_code`). A block that crashes fails its step and the run: immediately, unless a later
block can run without it. In that case the step has `on_error: defer`, and the run fails at its end. If blocks read how
such a block ended, and it may have been skipped too, a step before it records that it was attempted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wfc.dialects.base import Dialect
from wfc.yaml import Mapping, Node, Source

if TYPE_CHECKING:
    from wfc.dialects.editing import OpenFile, Part, StepUse, Suggestion
    from wfc.findings import Edit
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

    def in_braces(self, root: Mapping) -> list[Edit]:
        from wfc.dialects.blocks.rewrite import edits_to_braces

        return edits_to_braces(root)

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
