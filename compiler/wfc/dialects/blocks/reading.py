"""A file of blocks as a workflow of the core."""

from __future__ import annotations

from wfc.dialects.blocks.clashes import check_files
from wfc.dialects.blocks.meant import kind_of, type_of
from wfc.dialects.blocks.model import Block, BlocksFile
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.spelling import understood, with_plain_values
from wfc.dialects.blocks.translation import translate
from wfc.dialects.steps import StepsDialect, read_shape
from wfc.language.ast import Workflow
from wfc.language.values import Word
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Node, Sequence

MILD = frozenset({"WF002", "WF011", "WF111", "WF501", "WF502", "WF509"})
"""Errors elsewhere that are warnings here: of two keys the last counts, defaults are taken as they are, a workflow that
is called may stand in a folder that only the server knows, and there is no way to quote a value or to restrict one."""
SILENT = frozenset({"WF211", "WF304", "WF305", "WF306"})
"""What a block reads of another that may not have run has a default; and every block keeps its result, read or not."""

_BY_ENVIRONMENT = 'hand it over in `env`, and write "$NAME" in the command'
ADVICE = {
    "WF108": "move what both need into a workflow that calls neither",
    "WF207": "what a command prints is text, and so is a reference within text; a file among `outputs` has a type",
    "WF406": "look at `succeeded` or `exit_code` of it, or require it in `depends_on`",
    "WF501": _BY_ENVIRONMENT,
    "WF502": _BY_ENVIRONMENT,
    "WF503": _BY_ENVIRONMENT + " behind `--`",
    "WF509": "use a fixed path, a number, or a value that the block's `condition` compares with fixed texts "
    "(`${inputs.env} == 'prod'`); or let a command write the file and check the value there",
}
"""What the core would have one do with filters, this language does otherwise."""

ON_FAILURE = "A block that crashes fails the run; `retry` on it says how often it is tried."


def read_blocks(root: Mapping) -> Workflow:
    plain = with_plain_values(_with_outputs(_without_repeats(root)))
    file = read_shape(BlocksFile, plain)
    for block in file.blocks or []:
        named = type_of(block.node)
        if named is not None:
            block.put("type", Word(named))
        _read_inputs(block)
    reports = Reports()
    translation = translate(file, reports)
    workflow = StepsDialect().to_core(translation.root)
    check_files(workflow, translation, reports)
    workflow.surface = file
    workflow.reported = tuple(reports.all)
    workflow.mild = MILD
    workflow.advice = ADVICE
    workflow.spelling = {"state.": "blocks.", "with`": "inputs`", "with:": "inputs:"}
    workflow.silent = SILENT
    workflow.on_failure = ON_FAILURE
    workflow.understood = understood(plain)
    workflow.mentioned = translation.inputs
    return workflow


def _read_inputs(block: Block) -> None:
    """What a block is given has fields that depend on its type."""
    kind = kind_of(block.node)
    node = block.node.get("inputs")
    if kind is not None and (isinstance(node, Mapping) or node is None):
        shape = read_shape(kind.inputs, node if isinstance(node, Mapping) else Mapping(block.span))
        for old, name in kind.renamed.items():
            if old in shape.values and name in shape.FIELDS and name not in shape.values:
                shape.put(name, shape.values[old])
        shape.misplaced = {entry.key.text for entry in block.unknown}
        block.put("inputs", shape)


def _with_outputs(root: Mapping) -> Mapping:
    """The files of a command may stand among its inputs too, as `custom_outputs`."""
    blocks = root.get("blocks")
    for block in blocks.items if isinstance(blocks, Sequence) else ():
        inputs = block.get("inputs") if isinstance(block, Mapping) else None
        entry = inputs.entry("custom_outputs") if isinstance(inputs, Mapping) else None
        if (
            entry
            and isinstance(block, Mapping)
            and isinstance(inputs, Mapping)
            and not block.entry("outputs")
        ):
            inputs.entries.remove(entry)
            block.entries.append(Entry(replace(entry.key, text="outputs", value="outputs"), entry.value))
    return root


def _without_repeats(node: Mapping) -> Mapping:
    """Of a key that stands twice the last counts, as it does for the readers that such files were written for."""
    last = {entry.key.text: entry for entry in node.entries}
    entries = [Entry(entry.key, _cleaned(entry.value)) for entry in last.values()]
    return Mapping(node.span, entries)


def _cleaned(node: Node) -> Node:
    match node:
        case Mapping():
            return _without_repeats(node)
        case Sequence():
            return Sequence(node.span, [_cleaned(item) for item in node.items])
    return node
