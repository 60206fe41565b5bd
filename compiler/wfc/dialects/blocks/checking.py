"""Checks of the graph itself: dependencies on nothing, twice on the same, in a circle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from wfc.dialects.blocks.graph import BlockNode, Graph, Wait
from wfc.dialects.blocks.model import Block, BlocksFile
from wfc.dialects.blocks.references import find_references
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.spelling import scalars_in
from wfc.findings import Note, Severity
from wfc.language.values import Word
from wfc.suggest import did_you_mean

_SHOWN = 8


def without_repeated(blocks: list[Block], reports: Reports) -> Iterator[Block]:
    """The blocks, of those with the same id only the first."""
    first: dict[str, Word] = {}
    for block in blocks:
        earlier = first.setdefault(block.id.text, block.id) if block.id else None
        if block.id is None or earlier is block.id:
            yield block
        elif earlier is not None:
            message = f"two blocks have the id `{block.id.text}`"
            notes = (Note("the first one", earlier.span),)
            reports.add(
                "WF101", block.id.span, message, "give one of them another", notes=notes, step=block.id.text
            )


def check_defaults(file: BlocksFile, reports: Reports) -> None:
    """A default is a value: nothing looks into it for references."""
    for declared in (file.inputs or {}).values():
        for scalar in scalars_in(declared.default.node if declared.default else None):
            for found in find_references(scalar.text) if isinstance(scalar.value, str) else ():
                reports.add(
                    "WF202",
                    scalar.at(found.start, found.end),
                    f"a default is taken as it stands: `{scalar.text[found.start : found.end]}` in it is only text",
                    "let whoever starts it give the value, or put it together in the block that needs it",
                    severity=Severity.WARNING,
                )


def check_graph(graph: Graph, reports: Reports) -> None:
    for node in graph.all:
        _check_waits(node, graph, reports)
    for circle in graph.circles:
        _report_circle(circle, graph, reports)


def _check_waits(node: BlockNode, graph: Graph, reports: Reports) -> None:
    seen: dict[str, Wait] = {}
    for wait in node.waits:
        if wait.block not in graph.nodes:
            message = f"there is no block `{wait.block}` to wait for"
            reports.add("WF112", wait.span, message, did_you_mean(wait.block, graph.nodes), step=node.name)
        elif wait.block in seen:
            message = f"`{node.name}` waits for `{wait.block}` twice"
            notes = (Note("it stands here first", seen[wait.block].span),)
            reports.add("WF112", wait.span, message, "remove one of them", notes=notes, step=node.name)
        seen.setdefault(wait.block, wait)


def _report_circle(circle: list[str], graph: Graph, reports: Reports) -> None:
    ways = list(pairwise(circle))
    waits = [next(one for one in graph.nodes[name].waits if one.block == other) for name, other in ways]
    names = circle if len(circle) <= _SHOWN else [*circle[: _SHOWN - 2], "...", circle[-1]]
    message = f"`{circle[0]}` waits for itself" + (f": {' -> '.join(names)}" if len(ways) > 1 else "")
    notes = tuple(
        Note(f"`{name}` waits for `{other}`", wait.span)
        for (name, other), wait in list(zip(ways, waits, strict=True))[1:_SHOWN]
    )
    reports.add(
        "WF409", waits[0].span, message, "take one of these dependencies out", notes=notes, step=circle[0]
    )
