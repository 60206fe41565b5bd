"""The symbols of a file, each with its definitions and its references."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from wfc.language.ast import Scope
from wfc.language.dialect import Parsed
from wfc.language.scopes import Site, template_sites
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.yaml import Entry, Mapping, Span


@dataclass(eq=False)
class Symbol:
    """A step, task, state field, input or workflow."""

    kind: str
    name: str
    scope: Scope | None
    """The scope whose steps see it; None where the whole file does."""
    title: str = ""
    """What the dialect calls it, where that is not its kind and its name."""
    doc: str = ""
    defined: dict[int, Span] = field(default_factory=dict)
    """By offset: a YAML alias puts one place of the file into many steps."""
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
    def __init__(self, file: SourceFile) -> None:
        self._symbols: dict[tuple[str, Scope | None, str], Symbol] = {}
        self._source = file.source
        """Names in imported tasks have their places in another file."""
        workflow = file.workflow
        if workflow is not None:
            self._define("workflow", None, workflow.name.text, workflow.name.span) if workflow.name else None
            for entry in _entries(workflow.node, "tasks"):
                self._define("task", None, entry.key.text, entry.key.span)
            for scope in workflow.scopes:
                self._add_scope(scope, file)
            for site in template_sites(workflow):
                self._add_reads(site)
            if file.parsed is not None and file.is_translated:
                self._add_uses(file.parsed, file)
        # Sorted once, since the editor asks for the symbol at the cursor after every movement.
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
        """The symbol at an offset, and the range of its name."""
        # Two places may touch, as in `a.b`; the later one is preferred.
        number = bisect_right(self._starts, offset) - 1
        for start, end, symbol in reversed(self._places[max(0, number - 1) : number + 1]):
            if start <= offset <= end:
                return symbol, (start, end)
        return None

    # -- building --------------------------------------------------------------

    def _add_scope(self, scope: Scope, file: SourceFile) -> None:
        for entry in _entries(scope.node, "inputs"):
            self._define("input", scope, entry.key.text, entry.key.span)
        for given in ("initial_state", "start_values", "derived"):
            for entry in _entries(scope.node, given):
                self._define("field", scope, entry.key.text, entry.key.span)
        for one in scope.computed:
            self._add_step(scope, one, file)
        for step in scope.walk():
            self._add_step(scope, step, file)

    def _add_uses(self, parsed: Parsed, file: SourceFile) -> None:
        """The names of a translated file: the core's steps and state fields are not in it."""
        for key in [key for key in self._symbols if key[0] in ("step", "field")]:
            del self._symbols[key]
        for use in file.dialect.step_uses(parsed, file.document.root):
            if use.is_definition:
                self._define("step", None, use.name, use.span)
                symbol = self._symbol("step", None, use.name)
                symbol.title, symbol.doc = symbol.title or use.title, symbol.doc or use.doc
            else:
                self._refer("step", None, use.name, use.span)

    def _add_step(self, scope: Scope, step: Step, file: SourceFile) -> None:
        if step.id:
            self._define("step", scope, step.name, step.id.span)
        for _, word in step.jumps():
            self._refer("step", scope, word.text, word.span)
        for name, (span, _) in step.writes().items():
            self._define("field", scope, name, span)
        for word in step.declared:
            self._refer("field", scope, word.text, word.span)
        child = step.child()
        if child is not None and child.name is not None:
            self._refer("task" if child.is_task else "workflow", None, child.name.text, child.name.span)
            tasks = file.workflow.declared_tasks if file.workflow and child.is_task else {}
            task = tasks.get(child.name.text)
            for entry in _entries(step.node, "with") if task else ():
                self._refer("input", task, entry.key.text, entry.key.span)

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
        if span.source is self._source:
            bare = _bare(span)
            self._symbol(kind, scope, name).defined[bare.start] = bare

    def _refer(self, kind: str, scope: Scope | None, name: str, span: Span) -> None:
        if span.source is self._source:
            bare = _bare(span)
            self._symbol(kind, scope, name).named[bare.start] = bare

    def _symbol(self, kind: str, scope: Scope | None, name: str) -> Symbol:
        return self._symbols.setdefault((kind, scope, name), Symbol(kind, name, scope))


def _entries(node: Mapping, key: str) -> list[Entry]:
    found = node.get(key)
    return found.entries if isinstance(found, Mapping) else []


def _bare(span: Span) -> Span:
    """The span of a name without its quotes."""
    text = span.text
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return Span(span.source, span.start + 1, span.end - 1)
    return span
