"""References to blocks, `${blocks.build.succeeded}`, as they stand in the text."""

from __future__ import annotations

import re

from wfc.dialects.blocks.model import Block, BlocksFile
from wfc.lsp.analysis import Analysis

_REFERENCE = re.compile(r"\$\{\s*blocks\.([\w-]+)(?:\.(\w+))?")


def referred_block(analysis: Analysis, offset: int) -> tuple[Block, str, tuple[int, int]] | None:
    """The block that a reference at a place names, which part of it is pointed at ("": the block), and where."""
    workflow = analysis.unit.workflow
    file = workflow.surface if workflow else None
    if not isinstance(file, BlocksFile):
        return None
    text = analysis.unit.source.text
    start, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
    for found in _REFERENCE.finditer(text, start, end if end >= 0 else len(text)):
        for group in (1, 2):
            if found[group] and found.start(group) <= offset <= found.end(group):
                blocks = (one for one in file.blocks or [] if one.id and one.id.text == found[1])
                block = next(blocks, None)
                return (block, found[2] if group == 2 else "", found.span(group)) if block else None
    return None
