"""Translate a file of blocks to the core AST, by way of a YAML tree of steps in which every node has its position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wfc.config import AT_ONCE
from wfc.dialects.base import made, translated
from wfc.dialects.blocks.checks import (
    check_defaults,
    check_graph,
    check_notation,
    notation_of,
    without_repeated,
)
from wfc.dialects.blocks.conditions import (
    ConditionError,
    ConditionNode,
    Resolve,
    references,
    to_expression,
)
from wfc.dialects.blocks.expressions import Expr, as_bool, piped
from wfc.dialects.blocks.file import (
    INPUT_TYPES,
    VALUE_TYPES,
    Block,
    BlocksFile,
    InputDeclaration,
    WorkflowOutput,
)
from wfc.dialects.blocks.graph import BlockNode, Graph, field_name, waits_of
from wfc.dialects.blocks.kinds import KINDS, Mode, kind_of, type_of, understood, with_plain_values
from wfc.dialects.blocks.language import BlocksLanguage
from wfc.dialects.blocks.notation import BRACES, Notation
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.results import EXECUTION_ID, SCRATCH, START_TIME, Site, World
from wfc.dialects.blocks.steps import Steps
from wfc.dialects.blocks.texts import Texts, concatenation, hole, literal_text
from wfc.dialects.steps import read_shape, read_workflow
from wfc.findings import Edit, Fix, Note, Severity
from wfc.ir import Dependency, Vertex
from wfc.language.ast import Workflow
from wfc.language.dialect import Parsed
from wfc.language.steps.files import Written, may_clash, written_by
from wfc.language.values import Tree, Word, plain
from wfc.struct import replace, struct
from wfc.suggest import did_you_mean, nearest
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Span
from wfc.yaml import Node as SourceNode
from wfc_runtime.folders import OWN_FOLDER

# The outputs of a workflow are the value that its last step returns.

_FITTING: dict[str, tuple[str, ...]] = {
    "str": ("str",),
    "int": ("int",),
    "float": ("int", "float"),
    "num": ("int",),
    "bool": ("bool",),
    "list": ("list",),
    "dict": ("dict",),
    "json": ("int", "float", "bool", "list", "dict"),
}
"""The types that need no conversion to the declared type of an output."""
_COMPARING = ("compare", "and", "or", "not")


class Outputs:
    def __init__(self, world: World, reports: Reports) -> None:
        self._world = world
        self._reports = reports
        self.site = Site(world)
        self._texts = Texts(self.site, lambda error, node: reports.unresolved(error, node, self.site))

    def step(self, file: BlocksFile, name: str) -> Mapping:
        node = file.node.get("outputs")
        at = file.key_span("outputs")
        keys = {entry.key.text: entry.key for entry in node.entries} if isinstance(node, Mapping) else {}
        values = [Entry(keys[output], self._output(found)) for output, found in (file.outputs or {}).items()]
        entries = [Entry(made("id", at), made(name, at)), Entry(made("type", at), made("return", at))]
        if self.site.reads:
            fields: list[SourceNode] = [made(field, at) for field in self.site.reads]
            entries.append(Entry(made("needs_state", at), Sequence(at, fields)))
        return Mapping(at, [*entries, Entry(made("value", at), Mapping(at, values))])

    def _output(self, found: Tree | WorkflowOutput) -> SourceNode:
        if isinstance(found, Tree):
            return self._value(found.node, None)
        kind = VALUE_TYPES.get(found.type.text) if found.type else None
        return self._value(found.value.node, kind) if found.value else made(None, found.span)

    def _value(self, node: SourceNode, kind: str | None) -> SourceNode:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            return self._texts.node(node, Mode.TEXT)
        # `${a} == 'x'` as an output is a boolean, not a text with `==` in it.
        condition = output_condition(node.text, self._world.notation)
        if condition is not None:

            def fill(part: ConditionNode) -> Expr:
                return self._reports.filled(part, node, self.site)

            value = as_bool(to_expression(condition, self._resolving(node), fill))
            self.site.reads |= dict.fromkeys(sorted(value.reads))
            return self._written(node, value, kind)
        is_trimmed = kind == "str" and self._world.notation is BRACES
        if kind is None or self._world.notation.statements(node.text) or (kind == "str" and not is_trimmed):
            return self._texts.scalar(node, Mode.TEXT if kind else Mode.DATA)
        text = node.text.strip()
        start = node.text.index(text)
        found = self._texts.resolved(node)
        moved = [(replace(one, start=one.start - start, end=one.end - start), value) for one, value in found]
        if len(found) > 1:
            self._texts.note_printed(node, found, Mode.TEXT)
        value = concatenation(text, moved, start, start + len(text), self._world.notation)
        if is_trimmed and not value.is_constant:
            # A declared text has no white space around it in this notation: a command's output loses its newline.
            value = piped(value if value.type == "str" else piped(value, "text", "str"), "trim", "str")
        return self._written(node, value, kind)

    def _written(self, node: Scalar, value: Expr, kind: str | None) -> Scalar:
        """The value, converted to the declared type. In double braces a value that does not fit stays as it is."""
        if kind is not None and value.type not in _FITTING[kind]:
            keep = ", keep=true" if self._world.notation is BRACES else ""
            value = piped(value, f"convert('{kind}'{keep})", kind)
        if value.is_constant:
            return literal_text(made(value.constant, node))
        return translated(node, hole(value))

    def _resolving(self, node: Scalar) -> Resolve:
        return lambda reference: self._reports.resolved(reference, node, self.site)


def output_condition(text: str, notation: Notation) -> ConditionNode | None:
    """The condition in a text, if it has an operator and a reference; otherwise the text is just text."""
    holes = notation.holes(text) if notation is BRACES else []
    if len(holes) == 1 and holes[0].end - holes[0].start == len(text.strip()):
        return None  # One expression has its own value: `a or b` need not be a boolean.
    try:
        found = notation.condition(text)
    except ConditionError:
        return None
    return found if found.word in _COMPARING and (holes or any(references(found))) else None


# The tree of steps.

_CONDITION_HELP = (
    "compare references and quoted texts with ==, !=, <, >, <=, >= or in; combine with and, or, not"
)
_KEPT = ("name", "description", "version", "author", "tags", "budget")
_VERSION = "1.0"
_NOTED = {START_TIME: "{{ now() }}", EXECUTION_ID: "{{ uuid() }}"}


@struct(frozen=True, slots=True)
class Translation:
    root: Mapping
    graph: Graph
    parts: dict[str, int]
    """The number of the part that each block belongs to. The blocks of one part run in parallel."""
    inputs: frozenset[str]
    """The inputs that the file reads."""
    added: dict[str, str]
    """Steps that do not represent a block, by id, with the block that each is part of."""
    world: World


def translate(file: BlocksFile, reports: Reports) -> Translation:
    """The equivalent steps: wave after wave, with the blocks of one wave in parallel."""
    taken: set[str] = set()
    notation = notation_of(file)
    check_notation(file, notation, reports)
    blocks = without_repeated(file.blocks or [], reports)
    graph = Graph([_node(block, taken, notation, reports) for block in blocks])
    check_graph(graph, reports)
    check_defaults(file, notation, reports)
    # Blocks own their ids; the steps that the translation adds take what is left.
    names = _Names({node.name for node in graph.all})
    world = World(file, graph, {}, taken, notation=notation)
    making, outputs = Steps(world, reports), Outputs(world, reports)
    made_of = {node: making.step(node) for node in graph.all}
    last = outputs.step(file, names.free("outputs"))
    # A result that nothing reads is not kept: it would only make the state larger.
    used = outputs.site.reads.keys() | making.reads
    for node, step in made_of.items():
        inner = making.inner.get(node, step)
        if node.field in used and node.kind and node.kind.step != "set_state" and not node.is_repeated:
            at = node.block.span
            step.entries.append(Entry(made("output_to", at), made(node.field, at)))
        if world.secrets and node.kind and node.kind.is_served:
            # Every block lists all secrets, since each may read back what another one has written.
            at = node.block.span
            listed: list[SourceNode] = [made(name, at) for name in world.secrets]
            inner.entries.append(Entry(made("secrets", at), Sequence(at, listed)))
        if node.name in world.asked:
            at = node.block.span
            wanted: list[SourceNode] = [made(name, at) for name in world.asked[node.name]]
            inner.entries.append(Entry(made("facts", at), Sequence(at, wanted)))
    noted = {node: _noted(node, step, making, world, names) for node, step in made_of.items()}
    steps: list[SourceNode] = []
    parts: dict[str, int] = {}
    for wave in graph.waves:
        # The runtime has a limit of concurrent actions, so a wide wave becomes several steps.
        for number, part in enumerate(batched(wave, AT_ONCE), 1):
            parts |= dict.fromkeys((node.name for node in part), len(steps))
            steps += [_side_by_side(part, number, noted, names)] if len(part) > 1 else noted[part[0]]
    steps.append(last)
    first = [_note(file, world.facts, names)] if world.facts else []
    tasks = {node.name: making.task(node, names.free(f"{node.name}-return")) for node in making.inner}
    root = _workflow(world, [*first, *steps], tasks)
    return Translation(root, graph, parts, frozenset(world.inputs), names.added, world)


def batched(nodes: list[BlockNode], size: int) -> Iterator[list[BlockNode]]:
    return (nodes[start : start + size] for start in range(0, len(nodes), size))


class _Names:
    """Unused ids for steps that no block corresponds to."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = {name.replace("-", "_") for name in taken}
        self.added: dict[str, str] = {}
        """The ids, each with the block that its step is part of."""

    def part(self, word: str, node: BlockNode) -> str:
        name = self.free(f"{node.name}-{word}")
        self.added[name] = node.name
        return name

    def own(self, name: str) -> str:
        """Of a step that is part of no block."""
        name = self.free(name)
        self.added[name] = ""
        return name

    def free(self, name: str) -> str:
        while name.replace("-", "_") in self._taken:
            name = f"workflow-{name}"
        self._taken.add(name.replace("-", "_"))
        return name


def _node(block: Block, taken: set[str], notation: Notation, reports: Reports) -> BlockNode:
    name = block.id.text if block.id else ""
    kind = kind_of(block.node)
    if block.type and block.type.text not in KINDS:
        message = f"there is no block type `{block.type.text}`"
        near, place = nearest(block.type.text, KINDS), block.type.span
        fix = Fix(f"make it {near}", (Edit(place, near),), safe=False) if near else None
        reports.add("WF007", place, message, did_you_mean(block.type.text, KINDS), step=name, fix=fix)
    condition = _condition(block, name, notation, reports)
    return BlockNode(block, name, field_name(name, taken), kind, list(waits_of(block)), condition)


def _condition(block: Block, name: str, notation: Notation, reports: Reports) -> ConditionNode | None:
    node = block.condition.node if block.condition else None
    if node is None or isinstance(node.value, bool):
        return None
    try:
        return notation.condition(node.text)
    except ConditionError as error:
        reports.add("WF201", node.at(error.start, error.end), error.message, _CONDITION_HELP, step=name)
        return None


def _noted(node: BlockNode, step: Mapping, making: Steps, world: World, names: _Names) -> list[SourceNode]:
    """The step of a block, with extra steps around it that record its attempt and times if something reads them."""
    steps: list[SourceNode] = [step]
    if node.is_repeated:
        steps = making.around(node, step, names.part("items", node), names.part("results", node))
    if node.name in world.tried:
        steps.insert(0, making.mark(node, names.part("tried", node), world.tried[node.name]))
    if node.name in world.times:
        began, ended = world.times[node.name]
        steps.insert(0, making.note(node, names.part("began", node), began))
        steps.append(making.note(node, names.part("ended", node), ended))
    if len(steps) == 1:
        return steps
    return making.together(node, step, names.part("condition", node), steps)


def _side_by_side(
    nodes: list[BlockNode], part: int, made_of: dict[BlockNode, list[SourceNode]], names: _Names
) -> Mapping:
    at = nodes[0].block.span
    name = f"wave-{nodes[0].wave + 1}" + (f"-part-{part}" if part > 1 else "")
    branches = [
        Entry(made(node.name, node.block.span), Sequence(made_of[node][0].span, made_of[node]))
        for node in nodes
    ]
    # Most failures of a block are values. Those that fail the run do so at once.
    return _mapping(at, id=names.own(name), type="parallel", join="fail_fast", branches=Mapping(at, branches))


def _note(file: BlocksFile, facts: dict[str, str], names: _Names) -> Mapping:
    """A step that records the facts about the start of the run."""
    at = file.span
    updates = [Entry(made(field, at), made(_NOTED[name], at)) for name, field in facts.items()]
    return _mapping(at, id=names.own("begin"), type="set_state", updates=Mapping(at, updates))


def _workflow(world: World, steps: list[SourceNode], tasks: dict[str, Mapping]) -> Mapping:
    file, graph = world.file, world.graph
    at = file.span
    entries = [entry for entry in file.node.entries if entry.key.text in _KEPT]
    if file.version is None:
        entries.append(Entry(made("version", at), made(_VERSION, at)))
    # A block that calls this workflow can read these of it.
    sizes = {"total_blocks": len(graph.all), "execution_waves": len(graph.waves)}
    facts = [Entry(made(name, at), made(number, at)) for name, number in sizes.items()]
    if file.outputs:
        facts.append(Entry(made("outputs", at), _declared_outputs(file.outputs, at)))
    if file.inputs:
        node = file.node.get("inputs")
        assert isinstance(node, Mapping)
        inputs = [
            Entry(entry.key, _input(file.inputs[entry.key.text], world))
            for entry in node.entries
            if entry.key.text in file.inputs
        ]
        entries.append(Entry(made("inputs", at), Mapping(node.span, inputs)))
    if world.has_folder:
        facts.append(Entry(made(OWN_FOLDER, at), made(True, at)))
    entries.append(Entry(made("facts", at), Mapping(at, facts)))
    if tasks:
        named = [Entry(made(name, at), task) for name, task in tasks.items()]
        entries.append(Entry(made("tasks", at), Mapping(at, named)))
    return Mapping(file.node.span, [*entries, Entry(made("steps", at), Sequence(at, steps))])


def _declared_outputs(outputs: dict[str, Tree | WorkflowOutput], at: Span) -> Mapping:
    """The type and description of each output, for listings of workflows."""
    found: list[Entry] = []
    for name, output in outputs.items():
        kind = (
            VALUE_TYPES.get(output.type.text) if isinstance(output, WorkflowOutput) and output.type else None
        )
        about = output.description.text if isinstance(output, WorkflowOutput) and output.description else None
        words = {"type": kind, "description": about}
        found.append(
            Entry(made(name, at), _mapping(at, **{key: word for key, word in words.items() if word}))
        )
    return Mapping(at, found)


def _input(declared: InputDeclaration, world: World) -> Mapping:
    return Mapping(declared.node.span, list(_declaration(declared, world)))


def _declaration(declared: InputDeclaration, world: World) -> Iterable[Entry]:
    at = declared.span
    for entry in _last(declared.node):
        match entry.key.text:
            case "type" if declared.type:
                yield Entry(entry.key, made(INPUT_TYPES[declared.type.text], declared.type.node))
            case "default" if world.notation is BRACES:
                yield Entry(entry.key, _default(entry.value, world))
            case "default" | "description":
                yield entry
    yield Entry(made("required", at), made(declared.is_needed, at))
    # Inputs of this language accept numbers and booleans as text.
    yield Entry(made("convert", at), made(True, at))


def _default(node: SourceNode, world: World) -> SourceNode:
    """A default in which the folder of the run replaces `{{tmp}}`, which commands and paths expand."""
    match node:
        case Scalar() if isinstance(node.value, str):
            text = node.text
            for hole_ in reversed(BRACES.holes(text)):
                if [one.names for one in hole_.references] == [("tmp",)]:
                    text = text[: hole_.start] + SCRATCH + text[hole_.end :]
                    world.has_folder = True
            return node if text == node.text else made(text, node)
        case Sequence():
            return replace(node, items=[_default(item, world) for item in node.items])
        case Mapping():
            return replace(node, entries=[Entry(one.key, _default(one.value, world)) for one in node.entries])
    return node


def _last(node: Mapping) -> Iterator[Entry]:
    return iter({entry.key.text: entry for entry in node.entries}.values())


def _mapping(at: Span, **values: SourceNode | str) -> Mapping:
    entries = [
        Entry(made(name, at), made(value, at) if isinstance(value, str) else value)
        for name, value in values.items()
    ]
    return Mapping(at, entries)


# Blocks that write the same file without an order between them.


def check_files(workflow: Workflow, found: Translation, reports: Reports) -> None:
    """Blocks of different parts have an order only by chance. The core's own check reports blocks of one part."""
    graph, parts = found.graph, found.parts
    written: dict[str, list[Written]] = {}
    for step in workflow.walk():
        if step.name not in graph.nodes:
            continue
        node = graph.nodes[step.name]
        for file in written_by(step):
            name, _, path = file
            for _, writer, place in written.setdefault(name, []):
                other = graph.nodes[writer.name]
                is_ordered = graph.is_upstream(other.name, node) or graph.is_upstream(node.name, other)
                if not is_ordered and parts[other.name] != parts[node.name] and may_clash(writer, step):
                    reports.add(
                        "WF310",
                        path.span,
                        f"`{other.name}` and `{node.name}` both write this file, and neither waits for the other",
                        "order them with `depends_on`, or write different files",
                        notes=(Note(f"`{other.name}` writes it too", place.span),),
                        step=node.name,
                        severity=Severity.WARNING,
                    )
                    break
            written[name].append(file)


# The workflow.


def read_file(root: Mapping) -> BlocksFile:
    # The document keeps its own tree: checks of the YAML itself still see repeated keys and unquoted words.
    file = read_shape(BlocksFile, with_plain_values(_with_outputs(_without_repeats(root))))
    for block in file.blocks or []:
        named = type_of(block.node)
        if named is not None:
            block.put("type", Word(named))
        _read_inputs(block)
    return file


def parse_blocks(root: Mapping) -> Parsed:
    file = read_file(root)
    reports = Reports()
    translation = translate(file, reports)
    workflow = read_workflow(translation.root)
    for step in workflow.walk():
        step.belongs_to = translation.added.get(step.name)
    _name_types(workflow, translation.graph)
    check_files(workflow, translation, reports)
    return Parsed(
        workflow,
        BlocksLanguage(
            {node.field: node.name for node in translation.graph.all}, translation.world.notation, file
        ),
        surface=file,
        reports=tuple(reports.all),
        booleans=understood(file.node),
        graph={node.name: _vertex(node, translation.world) for node in translation.graph.nodes.values()},
        mentioned=translation.inputs,
    )


def _name_types(workflow: Workflow, graph: Graph) -> None:
    """Let steps know the types of their blocks, for comments of the module and pictures."""
    types = {node.name: node.block.type.text for node in graph.all if node.block.type}
    for scope in workflow.scopes:
        for step in scope.walk():
            if step.belongs_to is None:
                step.written_type = types.get(step.name, "")


def _vertex(node: BlockNode, world: World) -> Vertex:
    waits = tuple(Dependency(wait.block, wait.required) for wait in node.waits)
    written = node.block.condition.node.text if node.block.condition else ""
    inputs = node.block.node.get("inputs")
    given = plain(inputs) if isinstance(inputs, Mapping) else {}
    return Vertex(waits, " ".join(written.split()), given, tuple(sorted(world.read.get(node.name, ()))))


def _read_inputs(block: Block) -> None:
    """Read the inputs of a block with the fields of its type."""
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
    """The tree with `custom_outputs` among the inputs of a command, an old form, moved to `outputs`."""
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
    """The tree without repeated keys. The last one counts, as in the tools that such files were written for."""
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
