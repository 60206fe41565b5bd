"""The symbols of a file: where each is defined, and every place where it is used."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from wfc.dialects.blocks.conditions import find_references
from wfc.dialects.blocks.file import Block, BlocksFile, Dependency
from wfc.language.ast import Scope
from wfc.language.scopes import Site, jumps, template_sites
from wfc.language.steps.base import Step
from wfc.language.steps.call import Call
from wfc.language.steps.foreach import Foreach
from wfc.project import SourceFile
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Source, Span

# References to blocks, `${blocks.build.succeeded}` and in `depends_on`.


def block_named(unit: SourceFile, name: str) -> Block | None:
    file = unit.parsed.surface if unit.parsed else None
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


@dataclass(eq=False)
class Symbol:
    """A step, task, state field, input, block or workflow."""

    kind: str
    name: str
    scope: Scope | None
    """Whose steps see it; None for what the whole file sees."""
    defined: dict[int, Span] = field(default_factory=dict)
    """By where it begins: what an alias brings to many steps stands in one place."""
    named: dict[int, Span] = field(default_factory=dict)

    @property
    def definitions(self) -> list[Span]:
        return list(self.defined.values())

    @property
    def references(self) -> list[Span]:
        return list(self.named.values())

    @property
    def places(self) -> list[Span]:
        return [span for _, span in sorted({**self.named, **self.defined}.items())]


class Index:
    def __init__(self, unit: SourceFile) -> None:
        self._symbols: dict[tuple[str, Scope | None, str], Symbol] = {}
        workflow = unit.workflow
        if workflow is not None:
            self._define("workflow", None, workflow.name.text, workflow.name.span) if workflow.name else None
            for entry in _entries(workflow.node, "tasks"):
                self._define("task", None, entry.key.text, entry.key.span)
            for scope in workflow.scopes:
                self._add_scope(scope, unit)
            for site in template_sites(workflow):
                self._add_reads(site)
            surface = unit.parsed.surface if unit.parsed else None
            if isinstance(surface, BlocksFile):
                self._add_blocks(surface, unit)
        found = [(span.start, span.end, symbol) for symbol in self for span in symbol.places]
        self._places = sorted(found, key=lambda place: place[:2])
        self._starts = [start for start, _, _ in self._places]

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._symbols.values())

    def find(self, kind: str, scope: Scope | None, name: str) -> Symbol | None:
        return self._symbols.get((kind, scope, name))

    def named(self, kind: str, scope: Scope | None) -> list[Symbol]:
        return [symbol for symbol in self if symbol.kind == kind and symbol.scope is scope]

    def at(self, offset: int) -> tuple[Symbol, tuple[int, int]] | None:
        """What is named at a place, and where that name begins and ends."""
        number = bisect_right(self._starts, offset) - 1
        for start, end, symbol in reversed(self._places[max(0, number - 1) : number + 1]):
            if start <= offset <= end:
                return symbol, (start, end)
        return None

    # -- filling it ------------------------------------------------------------

    def _add_scope(self, scope: Scope, unit: SourceFile) -> None:
        for entry in _entries(scope.node, "inputs"):
            self._define("input", scope, entry.key.text, entry.key.span)
        for entry in _entries(scope.node, "initial_state"):
            self._define("field", scope, entry.key.text, entry.key.span)
        for step in scope.walk():
            self._add_step(scope, step, unit)

    def _add_blocks(self, file: BlocksFile, unit: SourceFile) -> None:
        """What such a file calls a block, the core knows as a step, a field or not at all."""
        for key in [key for key in self._symbols if key[0] in ("step", "field")]:
            del self._symbols[key]
        for block in file.blocks or []:
            if block.id:
                self._define("block", None, block.id.text, block.id.span)
            for name, span in waited_for(block):
                self._refer("block", None, name, span)
        for name, span in read_blocks(unit.source, unit.document.root):
            self._refer("block", None, name, span)

    def _add_step(self, scope: Scope, step: Step, unit: SourceFile) -> None:
        if step.id:
            self._define("step", scope, step.name, step.id.span)
        for _, word in jumps(step):
            self._refer("step", scope, word.text, word.span)
        for name, (span, _) in step.writes().items():
            self._define("field", scope, name, span)
        for word in step.declared:
            self._refer("field", scope, word.text, word.span)
        if isinstance(step, Foreach) and step.task:
            self._refer("task", None, step.task.text, step.task.span)
            task = unit.workflow.declared_tasks.get(step.task.text) if unit.workflow else None
            for entry in _entries(step.node, "with") if task else ():
                self._refer("input", task, entry.key.text, entry.key.span)
        if isinstance(step, Call) and step.workflow:
            self._refer("workflow", None, step.workflow.text, step.workflow.span)

    def _add_reads(self, site: Site) -> None:
        for read in site.text.template.reads:
            first = read.path[0] if read.path else None
            kind = {"state": "field", "inputs": "input"}.get(read.root)
            if kind and first and isinstance(first.name, str) and not first.called:
                self._refer(kind, site.scope, first.name, site.text.at(first.start, first.end))
            elif read.root in site.names.siblings:
                end = read.start + len(read.root)
                self._refer("field", site.scope, read.root, site.text.at(read.start, end))

    def _define(self, kind: str, scope: Scope | None, name: str, span: Span) -> None:
        bare = _bare(span)
        self._symbol(kind, scope, name).defined[bare.start] = bare

    def _refer(self, kind: str, scope: Scope | None, name: str, span: Span) -> None:
        bare = _bare(span)
        self._symbol(kind, scope, name).named[bare.start] = bare

    def _symbol(self, kind: str, scope: Scope | None, name: str) -> Symbol:
        return self._symbols.setdefault((kind, scope, name), Symbol(kind, name, scope))


def _entries(node: Mapping, key: str) -> list[Entry]:
    found = node.get(key)
    return found.entries if isinstance(found, Mapping) else []


def _bare(span: Span) -> Span:
    """A name without the quotes around it."""
    text = span.text
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return Span(span.source, span.start + 1, span.end - 1)
    return span
