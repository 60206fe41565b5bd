"""What could come next in a graph of blocks: after `${`, in `depends_on`, as a type, and as a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from wfc.block_reference import STATE_DOCS, block_page
from wfc.dialects.blocks.file import (
    INPUT_TYPES,
    Block,
    BlocksFile,
    Dependency,
    InputDeclaration,
    OutputDeclaration,
    WorkflowOutput,
)
from wfc.dialects.blocks.kinds import KINDS
from wfc.dialects.blocks.results import OF_WORKFLOW
from wfc.language.shape import Shape
from wfc.language.steps.base import Retry
from wfc.lsp.suggestion import Suggestion, column_of, fields_of, flow_keys, parents, siblings

_REFERENCE = re.compile(r"\$\{\s*((?:[\w-]+\.)*)[\w-]*$")
_WAITED_FOR = re.compile(r"\bdepends_on:\s*\[(?:[^\]]*,)?\s*[\w-]*$|\bblock:\s*[\w-]*$")
_LISTED = re.compile(r"^\s*-\s*[\w-]*$")
_TYPE = re.compile(r"(?:^\s*(?:- )?|[{,]\s*)type:\s*\w*$")
_WORKFLOW = re.compile(r"^\s*workflow:\s*[\w-]*$")
_KEY = re.compile(r"^\s*(?:- )?[a-z_]*$")


def suggestions_in_blocks(
    file: BlocksFile, above: list[str], workflows: Callable[[], Iterable[str]]
) -> Iterator[Suggestion]:
    """`above` is the text to the cursor, in lines; `workflows` names those of the project, which takes a moment."""
    line = above[-1]
    reference = _REFERENCE.search(line)
    if reference:
        yield from _after(file, [part for part in reference[1].split(".") if part])
    elif _WAITED_FOR.search(line) or (_LISTED.match(line) and _parent(above)[0] == "depends_on"):
        yield from _blocks(file)
    elif _WORKFLOW.match(line):
        yield from (Suggestion(name, "workflow") for name in workflows())
    elif _TYPE.search(line):
        yield from _types(above)
    elif (there := flow_keys(line)) is not None and _parent(above)[0] == "blocks":
        yield from fields_of(Block, there)
    elif _KEY.match(line):
        yield from _keys(above)


def _after(file: BlocksFile, path: list[str]) -> Iterator[Suggestion]:
    match path:
        case []:
            yield Suggestion("inputs", "name", "what the run was started with")
            yield Suggestion("blocks", "name", "what blocks gave back, and how they ended")
            yield Suggestion("metadata", "name", "the run itself")
        case ["inputs"]:
            for name, declared in (file.inputs or {}).items():
                doc = declared.description.text if declared.description else ""
                yield Suggestion(name, "input", declared.type.text if declared.type else "", doc)
        case ["metadata"]:
            yield from (Suggestion(name, "property") for name in OF_WORKFLOW)
        case ["blocks"]:
            yield from _blocks(file)
        case ["blocks", name]:
            yield from (Suggestion(state, "property", doc) for state, doc in STATE_DOCS.items())
            yield from _outputs(file, name)
            yield Suggestion("outputs", "name", "what it gave back")
        case ["blocks", name, "outputs"]:
            yield from _outputs(file, name)


def _blocks(file: BlocksFile) -> Iterator[Suggestion]:
    for block in file.blocks or []:
        if block.id:
            doc = block.description.text if block.description else ""
            yield Suggestion(block.id.text, "step", block.type.text if block.type else "", doc)


def _outputs(file: BlocksFile, name: str) -> Iterator[Suggestion]:
    block = next((one for one in file.blocks or [] if one.id and one.id.text == name), None)
    if block is None or block.type is None or block.type.text not in KINDS:
        return
    for output, kind in block_page(block.type.text).outputs.items():
        yield Suggestion(output, "property", kind)
    for output, declared in (block.outputs or {}).items():
        yield Suggestion(output, "property", declared.type.text if declared.type else "")


def _types(above: list[str]) -> Iterator[Suggestion]:
    top = next((line for line in reversed(above) if re.match(r"\w", line)), "")
    if top.startswith("blocks:"):
        for name in KINDS:
            page = block_page(name)
            yield Suggestion(name, "type", page.doc, page.markdown)
    else:
        yield from (Suggestion(name, "value") for name in INPUT_TYPES)


def _keys(above: list[str]) -> Iterator[Suggestion]:
    indent = column_of(above[-1])
    there, _ = siblings(above[:-1], indent)
    shape = _shape(above) if indent else BlocksFile
    yield from fields_of(shape, there) if shape else ()


def _shape(above: list[str]) -> type[Shape] | None:
    """What may stand in the mapping at the cursor."""
    ways = list(parents(above))
    match [key for key, _ in ways]:
        case ["blocks"]:
            return Block
        case ["inputs", "blocks"] if ways[0][1] in KINDS:
            return KINDS[ways[0][1]].inputs
        case ["retry", "blocks"]:
            return Retry
        case ["depends_on", "blocks"]:
            return Dependency
        case [_, "inputs"]:
            return InputDeclaration
        case [_, "outputs"]:
            return WorkflowOutput
        case [_, "outputs" | "custom_outputs", *_]:
            return OutputDeclaration
    return None


def _parent(above: list[str]) -> tuple[str, str]:
    return next(parents(above), ("", ""))
