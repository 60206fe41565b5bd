"""References in the spelling of other languages: `{{ inputs.name }}` is only text in a file of blocks."""

from __future__ import annotations

import re

from wfc.dialects.blocks.graph import BlockNode, Graph
from wfc.dialects.blocks.model import BlocksFile
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.spelling import scalars_in
from wfc.yaml import Mapping, Node

_SPELT_OTHERWISE = re.compile(r"\{\{-?\s*((inputs|blocks|metadata)\.([\w-]+)[\w.-]*)\s*-?\}\}")


def check_spelling(file: BlocksFile, graph: Graph, reports: Reports) -> None:
    """Only of what there is: a text may well hold the templates of others."""
    known: dict[str, set[str] | None] = {
        "inputs": set(file.inputs or {}),
        "blocks": set(graph.nodes),
        "metadata": None,
    }
    for block in graph.all:
        _check(_texts_of(block), known, reports, block.name)
    _check(file.node.get("outputs"), known, reports, None)


def _texts_of(block: BlockNode) -> Node | None:
    inputs = block.block.node.get("inputs")
    if block.kind is None or block.kind.step != "render_template" or not isinstance(inputs, Mapping):
        return inputs
    # Its template is one, with names of its own.
    return Mapping(inputs.span, [entry for entry in inputs.entries if entry.key.text != "template"])


def _check(node: Node | None, known: dict[str, set[str] | None], reports: Reports, step: str | None) -> None:
    for scalar in scalars_in(node):
        for found in _SPELT_OTHERWISE.finditer(scalar.text) if isinstance(scalar.value, str) else ():
            names = known[found[2]]
            if names is None or found[3] in names:
                reports.add(
                    "WF219",
                    scalar.at(*found.span()),
                    f"`{found[0]}` is only text here",
                    f"a reference is written `${{{found[1]}}}`",
                    step=step,
                )
