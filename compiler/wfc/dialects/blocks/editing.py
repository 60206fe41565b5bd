"""Graphs of blocks in an editor: completion, symbols and hover texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc.dialects.blocks.conditions import Reference
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
from wfc.dialects.blocks.language import BlocksLanguage
from wfc.dialects.blocks.notation import BRACES, DOLLAR
from wfc.dialects.blocks.reference import STATE_DOCS, block_page
from wfc.dialects.blocks.results import OF_WORKFLOW
from wfc.dialects.editing import (
    OpenFile,
    Part,
    StepUse,
    Suggestion,
    column_of,
    fields_of,
    flow_keys,
    parents,
    siblings,
    text_of,
)
from wfc.language.shape import Shape
from wfc.language.steps.base import Retry
from wfc.yaml import Mapping, Node, Scalar, Sequence, Source

# Completion: after `${` or in `{{`, in `depends_on`, as a type, and as a key.

_REFERENCE = re.compile(r"(?:\$\{\s*|\{\{-?\s*|\{\{(?:(?!\}\}).)*?(?<![\w.'\"]))((?:[\w-]+\.)*)[\w-]*$")
_IN_BRACES = {
    "each": "the item of a block with `for_each`",
    "secrets": "environment variables that the operator of the server grants",
    "tmp": "a folder for the files of this run",
    "get": "a key or an item, with a default: `get(inputs, 'name', '')`",
    "render": "a text rendered as a template: `render(text, {'name': value})`",
}
_OF_EACH = {"key": "its key, or '0', '1', ...", "value": "the item itself", "index": "its number, from 0"}
_WAITED_FOR = re.compile(r"\bdepends_on:\s*\[(?:[^\]]*,)?\s*[\w-]*$|\bblock:\s*[\w-]*$")
_BLOCK_LISTED = re.compile(r"^\s*-\s*[\w-]*$")
_BLOCK_TYPE = re.compile(r"(?:^\s*(?:- )?|[{,]\s*)type:\s*\w*$")
_WORKFLOW = re.compile(r"^\s*workflow:\s*[\w-]*$")
_BLOCK_KEY = re.compile(r"^\s*(?:- )?[a-z_]*$")


def complete(opened: OpenFile, text: str, offset: int) -> Iterator[Suggestion]:
    file = opened.parsed.surface if opened.parsed else None
    if not isinstance(file, BlocksFile):
        return
    above = text[:offset].split("\n")
    line = above[-1]
    reference = _REFERENCE.search(line)
    if reference:
        path = [part for part in reference[1].split(".") if part]
        yield from _after(file, path)
        if not path and reference[0].startswith("{{"):
            yield from (Suggestion(name, "name", doc) for name, doc in _IN_BRACES.items())
    elif _WAITED_FOR.search(line) or (_BLOCK_LISTED.match(line) and _parent(above)[0] == "depends_on"):
        yield from _blocks(file)
    elif _WORKFLOW.match(line):
        yield from (Suggestion(name, "workflow") for name in opened.workflows())
    elif _BLOCK_TYPE.search(line):
        yield from _types(above)
    elif (there := flow_keys(line)) is not None and _parent(above)[0] == "blocks":
        yield from fields_of(Block, there)
    elif _BLOCK_KEY.match(line):
        yield from _block_keys(above)


def _after(file: BlocksFile, path: list[str]) -> Iterator[Suggestion]:
    match path:
        case []:
            yield from (Suggestion(name, "name", doc) for name, doc in BlocksLanguage.roots.items())
        case ["inputs"]:
            for name, declared in (file.inputs or {}).items():
                yield Suggestion(name, "input", text_of(declared.type), text_of(declared.description))
        case ["each"]:
            yield from (Suggestion(name, "property", doc) for name, doc in _OF_EACH.items())
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
            yield Suggestion(block.id.text, "step", text_of(block.type), text_of(block.description))


def _outputs(file: BlocksFile, name: str) -> Iterator[Suggestion]:
    block = _named(file, name)
    if block is None or block.type is None or block.type.text not in KINDS:
        return
    for output, kind in block_page(block.type.text).outputs.items():
        yield Suggestion(output, "property", kind)
    for output, declared in (block.outputs or {}).items():
        yield Suggestion(output, "property", text_of(declared.type))


def _types(above: list[str]) -> Iterator[Suggestion]:
    # `type:` names a block type under `blocks:`, and a type of value elsewhere.
    top = next((line for line in reversed(above) if re.match(r"\w", line)), "")
    if top.startswith("blocks:"):
        for name in KINDS:
            page = block_page(name)
            yield Suggestion(name, "type", page.doc, page.markdown)
    else:
        yield from (Suggestion(name, "value") for name in INPUT_TYPES)


def _block_keys(above: list[str]) -> Iterator[Suggestion]:
    indent = column_of(above[-1])
    there, _ = siblings(above[:-1], indent)
    shape = _shape(above) if indent else BlocksFile
    yield from fields_of(shape, there) if shape else ()


def _shape(above: list[str]) -> type[Shape] | None:
    """The keys that the mapping at the cursor may have."""
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


# Symbols and hover texts.


def step_uses(file: BlocksFile, root: Node | None) -> Iterator[StepUse]:
    for block in file.blocks or []:
        if block.id:
            doc = ": ".join(
                part
                for part in (block.type and f"type `{block.type.text}`", text_of(block.description))
                if part
            )
            yield StepUse(block.id.text, block.id.span, True, f"`blocks.{block.id.text}`", doc)
        for one in block.depends_on or []:
            word = one.block if isinstance(one, Dependency) else one
            if word:
                yield StepUse(word.text, word.span)
    yield from _references(root)


def _references(node: Node | None) -> Iterator[StepUse]:
    """The blocks that the texts of any field refer to."""
    match node:
        case Scalar():
            # The text as written is searched: YAML has no other way to write a character of a name.
            source, start = node.span.source, node.span.start
            for found in _found(node.span.text):
                if len(found.parts) > 1 and found.parts[0].name == "blocks":
                    part = found.parts[1]
                    yield StepUse(part.name, source.span(start + part.start, start + part.end))
        case Sequence():
            for item in node.items:
                yield from _references(item)
        case Mapping():
            for entry in node.entries:
                yield from _references(entry.value)


def _found(text: str) -> Iterator[Reference]:
    """The references of a text, in either notation."""
    yield from DOLLAR.references(text)
    yield from BRACES.references(text)


def part_at(source: Source, offset: int) -> Part | None:
    """The part of a block's result that is named at a place.

    It is searched in the text, since the translation leaves out a state that `depends_on` already ensures.
    """
    text = source.text
    start, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
    for found in _found(text[start : end if end >= 0 else len(text)]):
        if len(found.parts) > 2 and found.parts[0].name == "blocks":
            _, block, part, *_ = found.parts
            if part.start <= offset - start <= part.end:
                doc = f"`{part.name}`: {STATE_DOCS[part.name]}" if part.name in STATE_DOCS else ""
                return Part(block.name, source.span(start + part.start, start + part.end), doc)
    return None


def _named(file: BlocksFile, name: str) -> Block | None:
    return next((one for one in file.blocks or [] if one.id and one.id.text == name), None)
