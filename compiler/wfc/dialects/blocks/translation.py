"""A file of blocks as a tree of the steps language, every node with its place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wfc.config import AT_ONCE
from wfc.dialects.blocks.checking import check_defaults, check_graph, without_repeated
from wfc.dialects.blocks.conditions import ConditionError, Node, read_condition
from wfc.dialects.blocks.foreign import check_spelling
from wfc.dialects.blocks.graph import BlockNode, Graph, field_name, waits_of
from wfc.dialects.blocks.kinds import KINDS
from wfc.dialects.blocks.meant import kind_of
from wfc.dialects.blocks.model import INPUT_TYPES, Block, BlocksFile, InputDeclaration
from wfc.dialects.blocks.outputs import Outputs
from wfc.dialects.blocks.pieces import made
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.resolving import EXECUTION_ID, START_TIME, World
from wfc.dialects.blocks.steps import Steps
from wfc.findings import Edit, Fix
from wfc.suggest import did_you_mean, nearest
from wfc.yaml import Entry, Mapping, Sequence, Span
from wfc.yaml import Node as SourceNode

_CONDITION_HELP = (
    "compare references and quoted texts with ==, !=, <, >, <=, >= or in; join with and, or, not"
)
_KEPT = ("name", "description", "version", "author", "tags")
_VERSION = "1.0"
_NOTED = {START_TIME: "{{ now() }}", EXECUTION_ID: "{{ uuid() }}"}


class Translation(NamedTuple):
    root: Mapping
    graph: Graph
    parts: dict[str, int]
    """The number of the part that each block belongs to: those of one part run side by side."""
    inputs: frozenset[str]
    """The inputs that the file reads."""


def translate(file: BlocksFile, reports: Reports) -> Translation:
    """The steps that mean the same: wave after wave, the blocks of one wave side by side."""
    taken: set[str] = set()
    graph = Graph([_node(block, taken, reports) for block in without_repeated(file.blocks or [], reports)])
    check_graph(graph, reports)
    check_defaults(file, reports)
    check_spelling(file, graph, reports)
    names = _Names({node.name for node in graph.all})
    world = World(file, graph, {}, taken)
    making, outputs = Steps(world, reports), Outputs(world, reports)
    made_of = {node: making.step(node) for node in graph.all}
    last = outputs.step(file, names.free("outputs"))
    used = outputs.site.reads.keys() | making.reads
    for node, step in made_of.items():
        if node.field in used and node.kind and node.kind.step != "set_state":
            at = node.block.span
            step.entries.append(Entry(made("output_to", at), made(node.field, at)))
        if node.name in world.asked:
            at = node.block.span
            wanted: list[SourceNode] = [made(name, at) for name in world.asked[node.name]]
            step.entries.append(Entry(made("facts", at), Sequence(at, wanted)))
    noted = {node: _noted(node, step, making, world, names) for node, step in made_of.items()}
    steps: list[SourceNode] = []
    parts: dict[str, int] = {}
    for wave in graph.waves:
        for number, part in enumerate(batched(wave, AT_ONCE), 1):
            parts |= dict.fromkeys((node.name for node in part), len(steps))
            steps += [_side_by_side(part, number, noted, names)] if len(part) > 1 else noted[part[0]]
    steps.append(last)
    first = [_note(file, world.facts, names)] if world.facts else []
    return Translation(_workflow(file, graph, [*first, *steps]), graph, parts, frozenset(world.inputs))


def batched(nodes: list[BlockNode], size: int) -> Iterator[list[BlockNode]]:
    return (nodes[start : start + size] for start in range(0, len(nodes), size))


class _Names:
    """Ids for steps that no block has, each given once."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = {name.replace("-", "_") for name in taken}

    def free(self, name: str) -> str:
        while name.replace("-", "_") in self._taken:
            name = f"workflow-{name}"
        self._taken.add(name.replace("-", "_"))
        return name


def _node(block: Block, taken: set[str], reports: Reports) -> BlockNode:
    name = block.id.text if block.id else ""
    kind = kind_of(block.node)
    if block.type and block.type.text not in KINDS:
        message = f"there is no block type `{block.type.text}`"
        near, place = nearest(block.type.text, KINDS), block.type.span
        fix = Fix(f"make it {near}", (Edit(place, near),), safe=False) if near else None
        reports.add("WF007", place, message, did_you_mean(block.type.text, KINDS), step=name, fix=fix)
    condition = _condition(block, name, reports)
    return BlockNode(block, name, field_name(name, taken), kind, list(waits_of(block)), condition)


def _condition(block: Block, name: str, reports: Reports) -> Node | None:
    node = block.condition.node if block.condition else None
    if node is None or isinstance(node.value, bool):
        return None
    try:
        return read_condition(node.text)
    except ConditionError as error:
        reports.add("WF201", node.at(error.start, error.end), error.message, _CONDITION_HELP, step=name)
        return None


def _noted(node: BlockNode, step: Mapping, making: Steps, world: World, names: _Names) -> list[SourceNode]:
    """A block's step, between others that note what somebody asks for: that it is tried, when it began and ended."""
    steps: list[SourceNode] = [step]
    if node.name in world.tried:
        steps.insert(0, making.mark(node, names.free(f"{node.name}-tried"), world.tried[node.name]))
    if node.name in world.times:
        began, ended = world.times[node.name]
        steps.insert(0, making.note(node, names.free(f"{node.name}-began"), began))
        steps.append(making.note(node, names.free(f"{node.name}-ended"), ended))
    return steps


def _side_by_side(
    nodes: list[BlockNode], part: int, made_of: dict[BlockNode, list[SourceNode]], names: _Names
) -> Mapping:
    at = nodes[0].block.span
    name = f"wave-{nodes[0].wave + 1}" + (f"-part-{part}" if part > 1 else "")
    branches = [
        Entry(made(node.name, node.block.span), Sequence(made_of[node][0].span, made_of[node]))
        for node in nodes
    ]
    return _mapping(at, id=names.free(name), type="parallel", branches=Mapping(at, branches))


def _note(file: BlocksFile, facts: dict[str, str], names: _Names) -> Mapping:
    """What only the start of a run knows."""
    at = file.span
    updates = [Entry(made(field, at), made(_NOTED[name], at)) for name, field in facts.items()]
    return _mapping(at, id=names.free("begin"), type="set_state", updates=Mapping(at, updates))


def _workflow(file: BlocksFile, graph: Graph, steps: list[SourceNode]) -> Mapping:
    at = file.span
    entries = [entry for entry in file.node.entries if entry.key.text in _KEPT]
    if file.version is None:
        entries.append(Entry(made("version", at), made(_VERSION, at)))
    sizes = {"total_blocks": len(graph.all), "execution_waves": len(graph.waves)}
    facts = [Entry(made(name, at), made(number, at)) for name, number in sizes.items()]
    entries.append(Entry(made("facts", at), Mapping(at, facts)))
    if file.inputs:
        node = file.node.get("inputs")
        assert isinstance(node, Mapping)
        inputs = [
            Entry(entry.key, _input(file.inputs[entry.key.text]))
            for entry in node.entries
            if entry.key.text in file.inputs
        ]
        entries.append(Entry(made("inputs", at), Mapping(node.span, inputs)))
    return Mapping(file.node.span, [*entries, Entry(made("steps", at), Sequence(at, steps))])


def _input(declared: InputDeclaration) -> Mapping:
    return Mapping(declared.node.span, list(_declaration(declared)))


def _declaration(declared: InputDeclaration) -> Iterable[Entry]:
    at = declared.span
    for entry in _last(declared.node):
        match entry.key.text:
            case "type" if declared.type:
                yield Entry(entry.key, made(INPUT_TYPES[declared.type.text], declared.type.node))
            case "default" | "description":
                yield entry
    yield Entry(made("required", at), made(declared.is_needed, at))
    yield Entry(made("convert", at), made(True, at))


def _last(node: Mapping) -> Iterator[Entry]:
    return iter({entry.key.text: entry for entry in node.entries}.values())


def _mapping(at: Span, **values: SourceNode | str) -> Mapping:
    entries = [
        Entry(made(name, at), made(value, at) if isinstance(value, str) else value)
        for name, value in values.items()
    ]
    return Mapping(at, entries)
