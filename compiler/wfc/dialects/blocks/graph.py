"""The graph of blocks: dependencies, the wave of each block, and what is certain about the others in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field as having

from wfc.caching import cached_property
from wfc.dialects.blocks.conditions import ConditionNode
from wfc.dialects.blocks.file import Block, Dependency
from wfc.dialects.blocks.kinds import Kind
from wfc.language.values import Word
from wfc.struct import struct
from wfc.yaml import Span
from wfc_runtime.digraph import components, has_circle, reachable, shortest_way

_NOT_NAME = re.compile(r"[^A-Za-z0-9_]")


@struct(frozen=True)
class Wait:
    """A dependency on another block."""

    block: str
    span: Span
    required: bool
    is_plain: bool = True
    """Whether it is written as just the name of the block."""


@struct(eq=False)
class BlockNode:
    """A block in the graph."""

    block: Block
    name: str
    field: str
    """The state field that keeps its result."""
    kind: Kind | None
    waits: list[Wait] = having(default_factory=list)
    condition: ConditionNode | None = None
    wave: int = 0
    order: int = 0
    """The number of blocks in earlier waves."""
    is_outlived: bool = False
    """Whether another block can run after this one has crashed."""

    @property
    def is_conditional(self) -> bool:
        """Whether its own condition may skip it."""
        given = self.block.condition
        return self.condition is not None or (given is not None and given.node.value is False)

    @property
    def is_repeated(self) -> bool:
        """Whether it runs once per item of a list or an object."""
        return self.block.node.entry("for_each") is not None and self.kind is not None

    @property
    def is_continued(self) -> bool:
        """Whether the run continues normally after the block has crashed."""
        return bool(self.block.setting("continue_on_error")) and self.can_crash

    @property
    def can_fail(self) -> bool:
        return self.kind is None or self.kind.can_fail or self.is_repeated or self.is_continued

    @property
    def can_crash(self) -> bool:
        # A crash of one item is data.
        return self.kind is None or (self.kind.can_crash and not self.is_repeated)


def waits_of(block: Block) -> Iterator[Wait]:
    for found in block.depends_on or ():
        if isinstance(found, Word):
            yield Wait(found.text, found.span, True)
        elif isinstance(found, Dependency) and found.block:
            yield Wait(found.block.text, found.block.span, found.is_required, is_plain=False)


class Graph:
    """The blocks by name. The wave of a block is the length of the longest path to it."""

    def __init__(self, nodes: list[BlockNode]) -> None:
        self.nodes: dict[str, BlockNode] = {}
        # Several blocks without an id share the empty name: the first stands for them in references.
        for node in nodes:
            self.nodes.setdefault(node.name, node)
        self.all = nodes
        self._bit = {name: 1 << number for number, name in enumerate(self.nodes)}
        self._edges = {
            name: [wait.block for wait in node.waits if wait.block in self.nodes]
            for name, node in self.nodes.items()
        }
        self.circles = list(self._circles())
        if self.circles:
            self._edges = self._without_circles()
        self.waves = self._waves()
        self._upstream_of: dict[str, set[str]] = {}
        self._mark_outlived()

    def _circles(self) -> Iterator[list[str]]:
        """Each dependency cycle, from its first block back to that."""
        order = {name: number for number, name in enumerate(self.nodes)}
        for names in components(self.nodes, self._edges):
            if has_circle(names, self._edges):
                start = min(names, key=order.__getitem__)
                inside = set(names)
                inner = {name: [one for one in self._edges[name] if one in inside] for name in names}
                yield shortest_way(start, start, inner)

    def _without_circles(self) -> dict[str, list[str]]:
        """The edges without those inside a cycle, so that the rest of the file can still be checked."""
        parts = components(self.nodes, self._edges)
        number = {name: index for index, names in enumerate(parts) for name in names}
        return {
            name: [one for one in others if number[one] != number[name]]
            for name, others in self._edges.items()
        }

    def _waves(self) -> list[list[BlockNode]]:
        wave: dict[str, int] = {}
        for names in components(self.nodes, self._edges):  # In topological order: dependencies first.
            for name in names:
                wave[name] = max((wave[one] + 1 for one in self._edges[name]), default=0)
        found: list[list[BlockNode]] = [[] for _ in range(max(wave.values(), default=-1) + 1)]
        for node in self.all:
            node.wave = wave[node.name]
            found[node.wave].append(node)
        order = 0
        for nodes in found:
            for node in nodes:
                node.order = order
            order += len(nodes)
        return found

    def _mark_outlived(self) -> None:
        """Find the blocks that can crash while a later block still runs, because it does not require them."""
        before: dict[str, int] = {}
        found = 0
        for node in (node for nodes in self.waves for node in nodes):
            before[node.name] = 0
            for name in self._edges[node.name]:
                before[node.name] |= before[name] | self._bit[name]
            found |= before[node.name] & ~self._behind[node.name]
        for node in self.all:
            node.is_outlived = node.is_continued or (node.can_crash and bool(found & self._bit[node.name]))

    def is_upstream(self, block: str, node: BlockNode) -> bool:
        """Whether a block has ended, successfully or not, before this one starts."""
        return block in self._edges[node.name] or block in self._upstream(node.name)

    def _upstream(self, name: str) -> set[str]:
        if name not in self._upstream_of:
            self._upstream_of[name] = reachable(self._edges[name], self._edges)
        return self._upstream_of[name]

    def required(self, node: BlockNode) -> list[str]:
        edges = self._edges[node.name]
        return [wait.block for wait in node.waits if wait.required and wait.block in edges]

    def succeeded_with(self, names: Iterable[str]) -> set[str]:
        """These blocks and all that they require, directly or not: if these succeeded, all of them did."""
        return reachable(names, self._required)

    def shown_by_others(self, names: list[str]) -> set[str]:
        """The blocks among these that another of them requires, so that its success implies theirs."""
        behind = 0
        for name in names:
            behind |= self._behind[name]
        return {name for name in names if behind & self._bit[name]}

    @cached_property
    def _behind(self) -> dict[str, int]:
        """The blocks that each block requires, directly or not, as bits: sets take quadratic time in large graphs."""
        found: dict[str, int] = {}
        for nodes in self.waves:
            for node in nodes:
                found[node.name] = 0
                for name in self._required[node.name]:
                    found[node.name] |= found[name] | self._bit[name]
        return found

    @cached_property
    def _required(self) -> dict[str, list[str]]:
        return {name: self.required(node) for name, node in self.nodes.items()}

    @cached_property
    def always(self) -> set[str]:
        """The blocks that run in every run in which no block crashes."""
        return self._tried(lambda node: not node.can_fail)

    @cached_property
    def surely(self) -> set[str]:
        """The blocks that are attempted in every run that gets that far, whichever blocks have crashed."""
        return self._tried(lambda node: not node.can_fail and not node.is_outlived)

    def _tried(self, succeeds: Callable[[BlockNode], bool]) -> set[str]:
        """The blocks without a condition that require only blocks which certainly run and succeed."""
        found: set[str] = set()
        for nodes in self.waves:
            for node in nodes:
                needed = self.required(node)
                if not node.is_conditional and all(
                    one in found and succeeds(self.nodes[one]) for one in needed
                ):
                    found.add(node.name)
        return found


def field_name(block: str, taken: set[str]) -> str:
    """The state field for the result of a block: its id as an identifier, made unique."""
    name = _NOT_NAME.sub("_", block)
    # The name of a state field must start with a letter.
    name = name if name[:1].isalpha() else f"block_{name.lstrip('_')}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name
