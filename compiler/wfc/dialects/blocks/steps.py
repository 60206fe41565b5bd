"""Translate one block to a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jinja2 import nodes

from wfc.dialects.base import Piece, Translated, made, translated
from wfc.dialects.blocks.braces import expression
from wfc.dialects.blocks.checks import check_template, check_unseen
from wfc.dialects.blocks.conditions import (
    ConditionNode,
    Part,
    Reference,
    conjuncts,
    contradicts_itself,
    references,
    to_expression,
)
from wfc.dialects.blocks.expressions import (
    NO_CONDITIONS,
    Expr,
    as_bool,
    collected,
    combination,
    literal,
    piped,
)
from wfc.dialects.blocks.file import VALUE_TYPES, Block
from wfc.dialects.blocks.graph import BlockNode, field_name
from wfc.dialects.blocks.kinds import Kind, Mode, is_template_text, scalars_in
from wfc.dialects.blocks.notation import BRACES, Hole, Notation
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.results import Site, UnresolvedError, World
from wfc.dialects.blocks.texts import GIVEN, Texts, concatenation, hole, literal_text
from wfc.findings import Severity
from wfc.struct import replace, struct
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Span

# The condition of a block: the blocks that it requires have succeeded, and its own condition holds.

_SUCCESS = ("succeeded",)
_TRIED = ("succeeded", "failed")


def site_of(node: BlockNode, world: World) -> Site:
    """The position inside a block: the blocks that it requires have succeeded, and its condition holds."""
    tried, there = (frozenset(_shown_by(node.condition, words)) for words in (_TRIED, _SUCCESS))
    return Site(world, node, tuple(world.graph.required(node)), tried, there)


def _shown_by(condition: ConditionNode | None, words: tuple[str, ...]) -> set[str]:
    """The blocks that must have ended in one of these states for a condition to hold."""
    # Only conjuncts prove anything: in `a or b`, either side alone may have been true.
    parts = [part.reference for part in conjuncts(condition) if part.reference] if condition else []
    return {one.names[1] for one in parts if len(one.names) == 3 and one.names[2] in words}


class Skipping:
    def __init__(self, world: World, reports: Reports) -> None:
        self._world = world
        self._graph = world.graph
        self._reports = reports
        self._unseen: dict[BlockNode, Span] = {}
        """Blocks whose condition tests a state that they never observe, with its span."""

    def when(self, node: BlockNode, inside: Site) -> Scalar | None:
        """The `when` of a block's step; None for one that always runs."""
        needed = self._needed(node)
        origin = node.block.condition.node if node.block.condition else None
        own = self._condition(node, origin, inside) if origin else None
        parts = [*needed, own] if own else needed
        whole = combination("and", parts) if parts else literal(True, 0, 0)
        # A constant `when` would be noise in the module; a block that never runs still needs a step, since
        # other blocks refer to it.
        if whole.is_constant:
            place = self._unseen.get(node) or (origin.span if origin else node.block.span)
            return None if whole.constant else made(False, place)
        inside.reads |= dict.fromkeys(sorted(whole.reads))
        if origin is not None and node.condition is not None:
            return translated(origin, hole(whole))
        # Without a condition of the author, the place to report is the dependency that made it necessary.
        wait = next(wait for wait in node.waits if wait.required)
        return made("".join(piece.text for piece in hole(whole)), wait.span)

    def _needed(self, node: BlockNode) -> list[Expr]:
        """The success of each required block, without those that another one implies."""
        required = list(dict.fromkeys(self._graph.required(node)))
        # In a chain a → b → c, the success of b implies that of a: conditions stay short however long the
        # chain is.
        shown = self._graph.shown_by_others(required)
        found: list[Expr] = []
        for number, name in enumerate(required):
            if self._graph.nodes[name].kind is None or name in shown:
                continue  # Nothing is known about the former, and other blocks imply the latter.
            # Each test may rely on the ones before it, because `and` stops at the first that is false.
            site = Site(self._world, node, tuple(required[:number]))
            expression = site.succeeded(self._graph.nodes[name], Part(name, 0, 0))
            if not expression.is_constant:
                found.append(expression)
        return found

    def _condition(self, node: BlockNode, origin: Scalar, inside: Site) -> Expr | None:
        if node.condition is None:
            return literal(False, 0, 0) if origin.value is False else None
        site = Site(self._world, node, inside.needed, keeps_secrets=False)

        def resolve(reference: Reference) -> Expr:
            self._reports.unordered(reference, origin, site)
            return self._reports.resolved(reference, origin, site, "bool")

        def ask(part: ConditionNode, value: Expr, is_last: bool) -> None:
            self._reports.no_condition(part, value, origin, site, is_last)

        def fill(part: ConditionNode) -> Expr:
            return self._reports.filled(part, origin, site)

        said = to_expression(node.condition, resolve, fill, ask)
        found = as_bool(said, strict=True)
        is_never = found.is_constant and not found.constant
        place = check_unseen(node, origin, site, self._reports, is_never)
        if place is not None:
            self._unseen[node] = place
            return found
        if said.type not in NO_CONDITIONS and (found.is_constant or contradicts_itself(node.condition)):
            self._report(node, origin, found.is_constant and bool(found.constant))
        return found

    def _report(self, node: BlockNode, origin: Scalar, value: bool) -> None:
        has_references = node.condition is not None and any(references(node.condition))
        if value and has_references:
            return  # It repeats what `depends_on` says, which is harmless.
        needed = ", ".join(f"`{name}`" for name in self._graph.required(node))
        if value:
            message, help_ = "the condition is always true", "remove it"
        else:
            message = "the condition is always false: the block never runs"
            help_ = (
                f"it runs only if {needed} succeeded; with `required: false` in `depends_on` it only waits"
                if needed and has_references
                else "remove the block, or fix the condition"
            )
        self._reports.add("WF210", origin.span, message, help_, step=node.name)


# The step itself.

# A prompt waits for a person until it is answered, and a state update has no cause of failure that would go
# away.
_NEVER_TRIED_AGAIN = ("prompt", "set_state")
_NO_STATEMENTS = (
    "an input with `{% %}` statements that reads other blocks or secrets can't be read by another block"
)
_DEEPEST = 50
"""The deepest nesting of calls."""
_MOMENT = {"at": "{{ now().isoformat() }}", "seconds": "{{ now().timestamp() }}"}
_FILE_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "num": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "json": "json",
}


def _needs_state(fields: Iterable[str], at: Span) -> list[Entry]:
    names: list[Node] = [made(name, at) for name in fields]
    return [Entry(made("needs_state", at), Sequence(at, names))] if names else []


_UNLABELLED = ("prompt", "system_instructions")
_RESULT, _GO = "result", "go"
_GOES_ON = "{{ previous | select('ok') | list | length == previous | length }}"


@struct(frozen=True)
class _Repeat:
    """The state fields of a block with `for_each`, and the template of its items with the fields that it reads."""

    entries: str
    each: str
    items: Scalar
    reads: tuple[str, ...]
    is_given: bool
    """Whether the run of an item gets any value."""


def _computed(value: Expr, at: Span) -> Scalar:
    return made("".join(piece.text for piece in hole(value)), at)


def _node_of(value: Node | str, at: Span) -> Node:
    return made(value, at) if isinstance(value, str) else value


def _tree(value: Any, at: Span) -> Node:
    """Plain data as a tree of the file."""
    if isinstance(value, dict):
        return Mapping(at, [Entry(made(str(key), at), _tree(item, at)) for key, item in value.items()])
    if isinstance(value, list):
        return Sequence(at, [_tree(item, at) for item in value])
    return made(value, at)


def _record(at: Span, **values: str) -> Mapping:
    return Mapping(at, [Entry(made(name, at), made(value, at)) for name, value in values.items()])


class Steps:
    """Translates blocks to steps."""

    def __init__(self, world: World, reports: Reports) -> None:
        self._world = world
        self._reports = reports
        self._skipping = Skipping(world, reports)
        self.reads: set[str] = set()
        """The state fields that any of the steps reads."""
        self.inner: dict[BlockNode, Mapping] = {}
        """The step for one item, of each block with `for_each`."""
        self._repeats: dict[BlockNode, _Repeat] = {}
        self._whens: dict[BlockNode, tuple[Scalar | None, tuple[str, ...], tuple[str, ...]]] = {}
        """Of each block: when it runs, the fields that this reads, and the fields that the block itself reads."""
        world.inline = self._inlined

    def step(self, node: BlockNode) -> Mapping:
        if node.is_repeated:
            return self._foreach(node)
        block, at = node.block, node.block.span
        inside = site_of(node, self._world)
        when = self._skipping.when(node, inside)
        # Kept apart, because `together` moves the condition to an outer step and each step lists only its own
        # reads.
        asked, inside.reads = inside.reads, {}
        fields = list(self._fields(node, inside))
        self._whens[node] = (when, tuple(asked), tuple(inside.reads))
        inside.reads = asked | inside.reads
        entries = [Entry(made("id", at), block.id.node if block.id else made("", at))]
        if node.kind is not None:
            entries.append(Entry(made("type", at), made(node.kind.step, block.value_span("type"))))
        if block.description:
            entries.append(Entry(made("description", at), block.description.node))
        self.reads |= inside.reads.keys()
        entries += _needs_state(inside.reads, at)
        if when is not None:
            entries.append(Entry(made("when", at), when))
        return Mapping(block.node.span, [*entries, *fields, *self._retry(node), *_failure(node)])

    # -- `for_each` ------------------------------------------------------------

    def _foreach(self, node: BlockNode) -> Mapping:
        """A foreach over the entries of the list or object. The work for one item is a task of the block's name."""
        block, at = node.block, node.block.span
        site = site_of(node, self._world)
        when = self._skipping.when(node, site)
        asked, site.reads = site.reads, {}
        items = self._items(node, site)
        reads_of_items, site.reads = tuple(site.reads), {}
        site.moved = {}
        fields = list(self._fields(node, site))
        each, entries = (field_name(f"{node.name}_{word}", self._world.taken) for word in ("each", "items"))
        is_given = bool(site.moved) or self._stops(node)
        self._repeats[node] = _Repeat(entries, each, items, reads_of_items, is_given)
        self.inner[node] = self._task(node, fields)
        self._whens[node] = (when, tuple(asked), (entries, *site.reads))
        self.reads |= {*asked, *reads_of_items, *site.reads}
        given = Mapping(
            at, [Entry(made(name, at), _computed(value, at)) for name, value in site.moved.items()]
        )
        if self._stops(node):
            given.entries.append(Entry(made(_GO, at), made(_GOES_ON, at)))
        step: dict[str, Node | str] = {
            "id": block.id.node if block.id else made("", at),
            "type": "foreach",
            "items": f"{{{{ state.{entries} }}}}",
            "task": node.name,
            "with": Mapping(at, [Entry(made(GIVEN, at), given)] if is_given else []),
            "on_error": "continue",
            "output_to": each,
        }
        entries_ = [Entry(made(key, at), _node_of(value, at)) for key, value in step.items()]
        if self._is_sequential(node):
            entries_.append(Entry(made("sequential", at), made(True, at)))
        elif block.max_parallel:
            entries_.append(Entry(made("max_parallel", at), block.max_parallel.node))
        entries_[2:2] = _needs_state(dict.fromkeys((*asked, entries, *site.reads)), at)
        if when is not None:
            entries_.insert(2, Entry(made("when", at), when))
        return Mapping(block.node.span, entries_)

    def _is_sequential(self, node: BlockNode) -> bool:
        return str(node.block.setting("for_each_mode")) == "sequential"

    def _stops(self, node: BlockNode) -> bool:
        """Whether no further item begins after one that has failed."""
        return self._is_sequential(node) and not node.block.setting("continue_on_error")

    def _items(self, node: BlockNode, site: Site) -> Scalar:
        found = node.block.node.get("for_each")
        assert found is not None
        for scalar in scalars_in(found):
            for reference in self._world.notation.references(scalar.text):
                self._reports.unordered(reference, scalar, site)
        try:
            end = len(found.text) if isinstance(found, Scalar) else 0
            constant = self._world.notation.constant(found.text) if isinstance(found, Scalar) else None
            if constant is not None:
                value = expression(constant, site)
            else:
                value = self._as_expression(found, self._texts(site), 0, end)
        except UnresolvedError as error:
            self._reports.add(error.code, found.span, error.message, error.help, step=node.name)
            value = literal([], 0, 0)
        pieces = hole(piped(value, "entries", "list"))
        if isinstance(found, Scalar):
            return translated(found, list(pieces))
        return made("".join(piece.text for piece in pieces), found.span)

    def _task(self, node: BlockNode, fields: list[Entry]) -> Mapping:
        """The step for one item."""
        block, at = node.block, node.block.span
        assert node.kind is not None
        entries = [
            Entry(made("id", at), block.id.node if block.id else made("", at)),
            Entry(made("type", at), made(node.kind.step, block.value_span("type"))),
        ]
        if self._stops(node):
            entries.append(Entry(made("when", at), made(f"{{{{ inputs.{GIVEN}.{_GO} }}}}", at)))
        entries += [*fields, *self._retry(node)]
        if node.kind.step != "set_state":
            entries.append(Entry(made("output_to", at), made(_RESULT, at)))
        return Mapping(block.node.span, entries)

    def task(self, node: BlockNode, name: str) -> Mapping:
        """The task of a block with `for_each`. `name` is the id of the step that returns the result."""
        at = node.block.span
        default = " | default(none)" if self._stops(node) else ""
        returned = _record(at, id=name, type="return", value=f"{{{{ state.{_RESULT}{default} }}}}")
        returned.entries[2:2] = _needs_state((_RESULT,), at)
        declared = _record(at, type="object")
        declared.entries.append(Entry(made("required", at), made(True, at)))
        inputs = Mapping(at, [Entry(made(GIVEN, at), declared)] if self._repeats[node].is_given else [])
        steps = Sequence(at, [self.inner[node], returned])
        return Mapping(at, [Entry(made("inputs", at), inputs), Entry(made("steps", at), steps)])

    def around(self, node: BlockNode, step: Mapping, before: str, after: str) -> list[Node]:
        """The step of a block with `for_each`, after one that lists the items and before one that sorts the results."""
        at, repeat = node.block.span, self._repeats[node]
        first = self._noting(node, before, Entry(made(repeat.entries, at), repeat.items))
        first.entries[2:2] = _needs_state(repeat.reads, at)
        text = f"{{{{ state.{repeat.each} | keyed(state.{repeat.entries}) }}}}"
        last = self._noting(node, after, Entry(made(node.field, at), made(text, at)))
        last.entries[2:2] = _needs_state((repeat.each, repeat.entries), at)
        return [first, step, last]

    def _retry(self, node: BlockNode) -> Iterator[Entry]:
        entry = node.block.node.entry("retry")
        if entry is None or node.kind is None:
            return
        if node.kind.step not in _NEVER_TRIED_AGAIN:
            yield entry
            return
        kind = node.block.type.text if node.block.type else ""
        message = f"`retry` has no effect: a block of type {kind} is never retried"
        self._reports.add(
            "WF009", entry.key.span, message, "remove it", step=node.name, severity=Severity.WARNING
        )

    def mark(self, node: BlockNode, step: str, field: str) -> Mapping:
        """A step that records that the block is attempted."""
        return self._noting(node, step, Entry(made(field, node.block.span), made(True, node.block.span)))

    def note(self, node: BlockNode, step: str, field: str) -> Mapping:
        """A step that records the time."""
        at = node.block.span
        moment = Mapping(at, [Entry(made(name, at), made(text, at)) for name, text in _MOMENT.items()])
        return self._noting(node, step, Entry(made(field, at), moment))

    def _noting(self, node: BlockNode, step: str, update: Entry) -> Mapping:
        """A step that records something."""
        at = node.block.span
        entries = [Entry(made("id", at), made(step, at)), Entry(made("type", at), made("set_state", at))]
        return Mapping(at, [*entries, Entry(made("updates", at), Mapping(at, [update]))])

    def together(self, node: BlockNode, step: Mapping, name: str, steps: list[Node]) -> list[Node]:
        """The step of a block and the steps that record something about it, behind one condition."""
        when, asked, own = self._whens[node]
        if when is None:
            return steps
        at = node.block.span
        # The condition moves to the step around: evaluated twice, it could differ.
        kept = [entry for entry in step.entries if entry.key.text not in ("when", "needs_state")]
        step.entries[:] = [*kept[:2], *_needs_state(own, at), *kept[2:]]
        entries = [Entry(made("id", at), made(name, at)), Entry(made("type", at), made("condition", at))]
        entries += [*_needs_state(asked, at), Entry(made("if", at), when)]
        return [Mapping(at, [*entries, Entry(made("then", at), Sequence(at, steps))])]

    def _fields(self, node: BlockNode, inside: Site) -> Iterator[Entry]:
        block, kind, at = node.block, node.kind, node.block.span
        inputs = block.node.get("inputs")
        given = inputs.entries if isinstance(inputs, Mapping) else []
        texts = self._texts(inside)
        notation = self._world.notation
        read = [
            entry
            for entry in given
            if _is_heeded(entry, kind) and not (kind and is_template_text(entry, kind) and notation is BRACES)
        ]
        for scalar in (one for entry in read for one in scalars_in(entry.value)):
            for reference in notation.references(scalar.text):
                self._reports.unordered(reference, scalar, inside)
        if kind is None:
            return
        if kind.step == "set_state":
            yield Entry(made("updates", at), self._echo(node, texts))
            return
        if kind.step == "prompt":
            yield Entry(made("prompt_type", at), made("text", at))
        if kind.step == "shell":
            # The language executes its commands itself, so a Shell block goes to the server if it has the
            # grant.
            yield Entry(made("runner", at), made("server", at))
        for name, default in kind.defaults.items():
            if not any(entry.key.text == name for entry in given):
                yield Entry(made(name, at), made(default, at))
        if kind.own is not None:
            yield from self._own(kind, given, texts, at)
            return
        for entry in given:
            if kind.step == "call" and entry.key.text == "workflow" and _is_computed(entry, notation):
                yield from _chosen(entry, texts)
                continue
            name = kind.renamed.get(entry.key.text, entry.key.text)
            is_time = entry.key.text == "timeout_ms"
            is_nothing = is_time and isinstance(entry.value, Scalar) and entry.value.value is None
            if name and entry.key.text in kind.inputs.FIELDS and not is_nothing:
                key = entry.key if name == entry.key.text else replace(entry.key, text=name, value=name)
                yield Entry(key, _in_seconds(entry.value, texts) if is_time else _given(entry, kind, texts))
        if kind.schema is not None:
            yield Entry(made("instructions", at), self._told(node, kind, texts))
            yield Entry(made("result_schema", at), _tree(kind.schema(inputs), at))
        self._check_unheeded(node, kind)
        if kind.step == "render_template":
            check_template(node, self._world.notation, self._reports)
        if kind.step == "call":
            # Blocks may pass more than the called workflow declares, and call themselves recursively.
            yield Entry(made("only_declared", at), made(True, at))
            yield Entry(made("max_depth", at), made(_DEEPEST, at))
        if block.outputs and kind.step != "shell":
            self._reports.add(
                "WF009",
                block.key_span("outputs"),
                f"`outputs` have no effect: a block of type {block.type.text if block.type else ''} reads no files",
                "declare them on the Shell block that writes them",
                step=node.name,
                severity=Severity.WARNING,
            )
        if block.outputs and kind.step == "shell":
            yield Entry(made("outputs", block.key_span("outputs")), _outputs(block, texts))

    def _own(self, kind: Kind, given: list[Entry], texts: Texts, at: Span) -> Iterator[Entry]:
        """The fields of a step that runs an own block type."""
        assert kind.own is not None
        assert kind.schema is not None
        name, about = kind.own
        inputs = [
            Entry(one.key, _given(one, kind, texts)) for one in given if one.key.text in kind.inputs.FIELDS
        ]
        yield Entry(made("block", at), made(name, at))
        yield Entry(made("inputs", at), Mapping(at, inputs))
        yield Entry(made("about", at), made(about.partition("\n\n")[0], at))
        yield Entry(made("result_schema", at), _tree(kind.schema(None), at))

    def _told(self, node: BlockNode, kind: Kind, texts: Texts) -> Scalar:
        """The instructions for an agent: the prompt, and the other inputs that it should know."""
        found = [(name, _input(node.block, name)) for name in kind.told]
        prompt = _input(node.block, "prompt")
        pieces: list[Piece] = []
        for name, scalar in found:
            if scalar is None or scalar.value is None:
                continue
            text = texts.scalar(scalar, Mode.TEXT)
            label = "" if name in _UNLABELLED else f"{name}: "
            pieces.append(Piece(("\n\n" if pieces else "") + label, 0, 0))
            if scalar is prompt and isinstance(text, Translated) and text.pieces:
                pieces += text.pieces
            else:
                is_copy = scalar is prompt
                pieces.append(Piece(text.text, 0, len(scalar.text) if is_copy else 0))
        return translated(prompt or made("", node.block.span), pieces)

    def _check_unheeded(self, node: BlockNode, kind: Kind) -> None:
        inputs = node.block.node.get("inputs")
        for name, (why, help_) in kind.unheeded.items():
            entry = inputs.entry(name) if isinstance(inputs, Mapping) else None
            if entry is not None:
                message = f"this has no effect: {why}"
                self._reports.add(
                    "WF009", entry.value.span, message, help_, step=node.name, severity=Severity.WARNING
                )

    def _texts(self, site: Site) -> Texts:
        return Texts(site, lambda error, scalar: self._reports.unresolved(error, scalar, site))

    def _echo(self, node: BlockNode, texts: Texts) -> Mapping:
        """The updates for an EchoBlock: its message needs no action, so it is set right away."""
        at = node.block.span
        message = _input(node.block, "message")
        text = texts.scalar(message, Mode.TEXT) if message else made("", at)
        echoed = texts.prefixed("Echo: ", message) if message else made("", at)
        record = Mapping(at, [Entry(made("echoed", at), echoed), Entry(made("message", at), text)])
        return Mapping(at, [Entry(made(_RESULT if node.is_repeated else node.field, at), record)])

    def _inlined(self, node: BlockNode, reference: Reference, site: Site) -> Expr:
        """An input of another block, as an expression with the same value."""
        part = reference.parts[0]
        found = node.block.node.get("inputs")
        for step in reference.parts:
            found = found.get(step.name) if isinstance(found, Mapping) else None
        if found is not None:
            return self._as_expression(found, self._texts(site), part.start, part.end)
        known = node.kind.inputs.FIELDS if node.kind else {}
        if len(reference.parts) == 1 and part.name in known and known[part.name].default is not None:
            return literal(known[part.name].default, part.start, part.end)
        message = f"`{node.name}` has no input `{'.'.join(reference.names)}`"
        raise UnresolvedError("WF206", message, part.start, reference.parts[-1].end)

    def _as_expression(self, node: Node, texts: Texts, start: int, end: int) -> Expr:
        """A value with all texts in it as one expression that replaces a reference."""
        match node:
            case Scalar() if isinstance(node.value, str):
                if texts.notation.statements(node.text):
                    return _rendered(node, texts, start, end)
                return concatenation(node.text, texts.resolved(node), start, end, texts.notation)
            case Scalar():
                return literal(node.value, start, end)
            case Sequence():
                items = [self._as_expression(item, texts, start, end) for item in node.items]
                return collected("list", [("", item) for item in items], start, end)
            case Mapping():
                values = [
                    (f"{entry.key.text!r}: ", self._as_expression(entry.value, texts, start, end))
                    for entry in node.entries
                ]
                return collected("dict", values, start, end)


def _rendered(node: Scalar, texts: Texts, start: int, end: int) -> Expr:
    """A text with statements as one expression: rendered with the inputs of the run, if it reads nothing else."""
    before, texts.site.reads = texts.site.reads, {}
    made_text = texts.scalar(node, Mode.TEXT).text
    reads, texts.site.reads = texts.site.reads, before
    # A rendered text gets only the inputs: with state in it, the reads could not be listed in `needs_state`.
    if reads or "secret(" in made_text:
        raise UnresolvedError("WF202", _NO_STATEMENTS, start, end)
    return Expr((Piece(f"render({made_text!r}, {{'inputs': inputs}})", start, end),), "str")


def _failure(node: BlockNode) -> Iterator[Entry]:
    """A crash is deferred to the end of the run if other blocks can still run, unless the block may fail."""
    if node.is_outlived and node.kind is not None:
        at = node.block.span
        yield Entry(made("on_error", at), made("continue" if node.is_continued else "defer", at))


def _is_heeded(entry: Entry, kind: Kind | None) -> bool:
    """Whether an input has an effect, and its references too."""
    return kind is None or kind.renamed.get(entry.key.text) != ""


def _given(entry: Entry, kind: Kind, texts: Texts) -> Node:
    """The value of an input for the step's field."""
    mode = kind.modes.get(entry.key.text, Mode.TEXT)
    if is_template_text(entry, kind) and isinstance(entry.value, Scalar) and texts.notation is BRACES:
        return literal_text(entry.value)
    # Variables and headers are text for the program: `8080` and `true` must stay as they are written.
    if entry.key.text not in ("env", "headers") or not isinstance(entry.value, Mapping):
        return texts.node(entry.value, mode)
    return replace(
        entry.value,
        entries=[Entry(one.key, texts.node(_as_text(one.value), mode)) for one in entry.value.entries],
    )


def _is_computed(entry: Entry, notation: Notation) -> bool:
    return isinstance(entry.value, Scalar) and bool(notation.holes(entry.value.text))


def _chosen(entry: Entry, texts: Texts) -> Iterator[Entry]:
    """A computed name of a workflow, with the names that it may be: those that have the same text around the values."""
    assert isinstance(entry.value, Scalar)
    text, at = entry.value.text, entry.value.span
    names = _choices(texts.notation.holes(text), text)
    # Nothing is known about the values, so every workflow whose name fits the text around them may be called.
    if not names:
        pattern, end = "", 0
        for one in texts.notation.holes(text):
            pattern += f"{text[end : one.start]}*"
            end = one.end
        names = [pattern + text[end:]]
    yield Entry(replace(entry.key, text="choose", value="choose"), texts.node(entry.value, Mode.TEXT))
    yield Entry(made("among", at), Sequence(at, [made(one, at) for one in names]))


def _choices(holes: list[Hole], text: str) -> list[str]:
    """The names in a name that is one choice between them: `{{ 'a' if inputs.x else 'b' }}`."""
    if len(holes) != 1 or (holes[0].start, holes[0].end) != (0, len(text)) or holes[0].template is None:
        return []
    pending, found = [holes[0].template.expression], list[str]()
    while pending:
        match pending.pop():
            case nodes.CondExpr(expr1=one, expr2=other):
                pending += [other, one]
            case nodes.Const(value=str() as name):
                found.append(name)
            case _:
                return []
    return list(dict.fromkeys(found))


def _in_seconds(node: Node, texts: Texts) -> Node:
    """Milliseconds as seconds, written or computed."""
    if not isinstance(node, Scalar) or node.value is None:
        return node
    if not isinstance(node.value, str):
        seconds = node.value / 1000
        return made(int(seconds) if seconds.is_integer() else seconds, node)
    given = concatenation(node.text, texts.resolved(node), 0, len(node.text), texts.notation)
    number = piped(given, "convert('float')", "float")
    return translated(node, hole(replace(number, pieces=(*number.pieces, Piece(" / 1000", 0, 0)))))


def _as_text(node: Node) -> Node:
    """A number or a boolean as text, as it is written."""
    if isinstance(node, Scalar) and node.value is not None and not isinstance(node.value, str):
        return replace(node, value=node.text)
    return node


def _outputs(block: Block, texts: Texts) -> Mapping:
    node = block.node.get("outputs")
    assert isinstance(node, Mapping)
    return replace(node, entries=[Entry(entry.key, _output(entry.value, texts)) for entry in node.entries])


def _output(node: Node, texts: Texts) -> Node:
    if not isinstance(node, Mapping):
        return node
    entries: list[Entry] = []
    for entry in node.entries:
        value = texts.node(entry.value, Mode.TEXT)
        if entry.key.text == "type" and isinstance(value, Scalar):
            value = made(_FILE_TYPES.get(VALUE_TYPES.get(value.text, ""), value.text), value)
        entries.append(Entry(entry.key, value))
    return replace(node, entries=entries)


def _input(block: Block, name: str) -> Scalar | None:
    inputs = block.node.get("inputs")
    found = inputs.get(name) if isinstance(inputs, Mapping) else None
    return found if isinstance(found, Scalar) else None
