"""References to blocks, `${blocks.build.succeeded}` and in `depends_on`, as they stand in the text."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.dialects.blocks.conditions import find_references
from wfc.dialects.blocks.file import Block, BlocksFile, Dependency
from wfc.project import SourceFile
from wfc.yaml import Mapping, Node, Scalar, Sequence, Source, Span


def block_named(unit: SourceFile, name: str) -> Block | None:
    file = unit.workflow.surface if unit.workflow else None
    blocks = (file.blocks or []) if isinstance(file, BlocksFile) else []
    return next((one for one in blocks if one.id and one.id.text == name), None)


def waited_for(block: Block) -> Iterator[tuple[str, Span]]:
    """The blocks that one waits for, and where they are named."""
    for one in block.depends_on or []:
        word = one.block if isinstance(one, Dependency) else one
        if word:
            yield word.text, word.span


def read_blocks(source: Source, node: Node | None) -> Iterator[tuple[str, Span]]:
    """The blocks that texts refer to, wherever they stand."""
    match node:
        case Scalar():
            # As it is written: names have no character that YAML would write in another way.
            for found in find_references(node.span.text):
                if len(found.parts) > 1 and found.parts[0].name == "blocks":
                    part = found.parts[1]
                    yield part.name, source.span(node.span.start + part.start, node.span.start + part.end)
        case Sequence():
            for item in node.items:
                yield from read_blocks(source, item)
        case Mapping():
            for entry in node.entries:
                yield from read_blocks(source, entry.value)


def state_at(unit: SourceFile, offset: int) -> tuple[str, str, Span] | None:
    """The block and the part of it that a reference at a place names: `build` and `succeeded`."""
    text = unit.source.text
    start, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
    for found in find_references(text[start : end if end >= 0 else len(text)]):
        if len(found.parts) > 2 and found.parts[0].name == "blocks":
            part = found.parts[2]
            if part.start <= offset - start <= part.end:
                return found.parts[1].name, part.name, unit.source.span(start + part.start, start + part.end)
    return None
