"""A block as a step."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.dialects.blocks.expressions import Expr, collected, literal, piped
from wfc.dialects.blocks.graph import BlockNode
from wfc.dialects.blocks.kinds import Kind, Mode
from wfc.dialects.blocks.model import VALUE_TYPES, Block
from wfc.dialects.blocks.pieces import Piece, made, translated
from wfc.dialects.blocks.references import Reference, find_references
from wfc.dialects.blocks.rendering import check_template
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.resolving import Site, UnresolvedError, World
from wfc.dialects.blocks.skipping import Skipping, site_of
from wfc.dialects.blocks.spelling import scalars_in
from wfc.dialects.blocks.texts import Texts, concatenation, hole
from wfc.findings import Severity
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence

_TIMEOUT = 120
_NEVER_TRIED_AGAIN = ("prompt", "set_state")
_DEEPEST = 50
"""How deep workflows may call each other, or themselves."""
_MOMENT = {"at": "{{ now().isoformat() }}", "seconds": "{{ now().timestamp() }}"}
_FILE_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "json": "json",
}


class Steps:
    """Makes steps of blocks."""

    def __init__(self, world: World, reports: Reports) -> None:
        self._world = world
        self._reports = reports
        self._skipping = Skipping(world, reports)
        self.reads: set[str] = set()
        """The state fields that any of the steps reads."""
        self._whens: dict[BlockNode, tuple[Scalar | None, tuple[str, ...]]] = {}
        world.inline = self._inlined

    def step(self, node: BlockNode) -> Mapping:
        block, at = node.block, node.block.span
        inside = site_of(node, self._world)
        when = self._skipping.when(node, inside)
        self._whens[node] = (when, tuple(inside.reads))
        fields = list(self._fields(node, inside))
        entries = [Entry(made("id", at), block.id.node if block.id else made("", at))]
        if node.kind is not None:
            entries.append(Entry(made("type", at), made(node.kind.step, block.value_span("type"))))
        if block.description:
            entries.append(Entry(made("description", at), block.description.node))
        self.reads |= inside.reads.keys()
        if inside.reads:
            names: list[Node] = [made(name, at) for name in inside.reads]
            entries.append(Entry(made("needs_state", at), Sequence(at, names)))
        if when is not None:
            entries.append(Entry(made("when", at), when))
        return Mapping(block.node.span, [*entries, *fields, *self._retry(node), *_failure(node)])

    def _retry(self, node: BlockNode) -> Iterator[Entry]:
        entry = node.block.node.entry("retry")
        if entry is None or node.kind is None:
            return
        if node.kind.step not in _NEVER_TRIED_AGAIN:
            yield entry
            return
        kind = node.block.type.text if node.block.type else ""
        message = f"a block of type {kind} is never tried again: this is not looked at"
        self._reports.add(
            "WF009", entry.key.span, message, "take it out", step=node.name, severity=Severity.WARNING
        )

    def mark(self, node: BlockNode, step: str, field: str) -> Mapping:
        """A step that notes that the block is tried."""
        return self._noting(node, step, Entry(made(field, node.block.span), made(True, node.block.span)))

    def note(self, node: BlockNode, step: str, field: str) -> Mapping:
        """A step that notes the time."""
        at = node.block.span
        moment = Mapping(at, [Entry(made(name, at), made(text, at)) for name, text in _MOMENT.items()])
        return self._noting(node, step, Entry(made(field, at), moment))

    def _noting(self, node: BlockNode, step: str, update: Entry) -> Mapping:
        """A step that notes something, where the block itself runs."""
        at = node.block.span
        when, reads = self._whens[node]
        entries = [Entry(made("id", at), made(step, at)), Entry(made("type", at), made("set_state", at))]
        if when is not None:
            names: list[Node] = [made(name, at) for name in reads]
            entries += [Entry(made("needs_state", at), Sequence(at, names))] if names else []
            entries.append(Entry(made("when", at), when))
        return Mapping(at, [*entries, Entry(made("updates", at), Mapping(at, [update]))])

    def _fields(self, node: BlockNode, inside: Site) -> Iterator[Entry]:
        block, kind, at = node.block, node.kind, node.block.span
        inputs = block.node.get("inputs")
        given = inputs.entries if isinstance(inputs, Mapping) else []
        texts = self._texts(inside)
        for scalar in (one for entry in given if _is_heeded(entry, kind) for one in scalars_in(entry.value)):
            for reference in find_references(scalar.text):
                self._reports.unordered(reference, scalar, inside)
        if kind is None:
            return
        if kind.step == "set_state":
            yield Entry(made("updates", at), self._echo(node, texts))
            return
        if kind.step == "prompt":
            yield Entry(made("prompt_type", at), made("text", at))
        if kind.step == "shell":
            yield Entry(made("runner", at), made("server", at))
            if not any(entry.key.text == "timeout" for entry in given):
                yield Entry(made("timeout", at), made(_TIMEOUT, at))
        for entry in given:
            name = kind.renamed.get(entry.key.text, entry.key.text)
            is_time = entry.key.text == "timeout_ms"
            is_nothing = is_time and isinstance(entry.value, Scalar) and entry.value.value is None
            if name and entry.key.text in kind.inputs.FIELDS and not is_nothing:
                key = entry.key if name == entry.key.text else replace(entry.key, text=name, value=name)
                yield Entry(key, _in_seconds(entry.value, texts) if is_time else _given(entry, kind, texts))
        self._check_unheeded(node, kind)
        if kind.step == "render_template":
            check_template(node, self._reports)
        if kind.step == "call":
            yield Entry(made("only_declared", at), made(True, at))
            yield Entry(made("max_depth", at), made(_DEEPEST, at))
        if block.outputs and kind.step != "shell":
            self._reports.add(
                "WF009",
                block.key_span("outputs"),
                f"a block of type {block.type.text if block.type else ''} reads no files: these are not looked at",
                "declare them on the Shell block that writes them",
                step=node.name,
                severity=Severity.WARNING,
            )
        if block.outputs and kind.step == "shell":
            yield Entry(made("outputs", block.key_span("outputs")), _outputs(block, texts))

    def _check_unheeded(self, node: BlockNode, kind: Kind) -> None:
        inputs = node.block.node.get("inputs")
        for name, (why, help_) in kind.unheeded.items():
            entry = inputs.entry(name) if isinstance(inputs, Mapping) else None
            if entry is not None:
                message = f"{why}: this is not looked at"
                self._reports.add(
                    "WF009", entry.value.span, message, help_, step=node.name, severity=Severity.WARNING
                )

    def _texts(self, site: Site) -> Texts:
        return Texts(site, lambda error, scalar: self._reports.unresolved(error, scalar, site))

    def _echo(self, node: BlockNode, texts: Texts) -> Mapping:
        """A message is no action: it is a value, there at once."""
        at = node.block.span
        message = _input(node.block, "message")
        text = texts.scalar(message, Mode.TEXT) if message else made("", at)
        echoed = texts.prefixed("Echo: ", message) if message else made("", at)
        record = Mapping(at, [Entry(made("echoed", at), echoed), Entry(made("message", at), text)])
        return Mapping(at, [Entry(made(node.field, at), record)])

    def _inlined(self, node: BlockNode, reference: Reference, site: Site) -> Expr:
        """An input of another block, as an expression that gives the same."""
        part = reference.parts[0]
        found = node.block.node.get("inputs")
        for step in reference.parts:
            found = found.get(step.name) if isinstance(found, Mapping) else None
        if found is not None:
            return self._as_expression(found, self._texts(site), part.start, part.end)
        known = node.kind.inputs.FIELDS if node.kind else {}
        if len(reference.parts) == 1 and part.name in known and known[part.name].default is not None:
            return literal(known[part.name].default, part.start, part.end)
        message = f"`{node.name}` is given no `{'.'.join(reference.names)}`"
        raise UnresolvedError("WF206", message, part.start, reference.parts[-1].end)

    def _as_expression(self, node: Node, texts: Texts, start: int, end: int) -> Expr:
        """A value with all the texts in it, standing for a reference."""
        match node:
            case Scalar() if isinstance(node.value, str):
                return concatenation(node.text, texts.resolved(node), start, end)
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


def _failure(node: BlockNode) -> Iterator[Entry]:
    """Where others can still run, the run fails when they have."""
    if node.is_outlived and node.kind is not None:
        at = node.block.span
        yield Entry(made("on_error", at), made("defer", at))


def _is_heeded(entry: Entry, kind: Kind | None) -> bool:
    """Whether anything comes of an input."""
    return kind is None or kind.renamed.get(entry.key.text) != ""


def _given(entry: Entry, kind: Kind, texts: Texts) -> Node:
    """An input, in the form that the step's field takes."""
    mode = kind.modes.get(entry.key.text, Mode.TEXT)
    if entry.key.text != "env" or not isinstance(entry.value, Mapping):
        return texts.node(entry.value, mode)
    return replace(
        entry.value,
        entries=[Entry(one.key, texts.node(_as_text(one.value), mode)) for one in entry.value.entries],
    )


def _in_seconds(node: Node, texts: Texts) -> Node:
    """Milliseconds, said or computed."""
    if not isinstance(node, Scalar) or node.value is None:
        return node
    if not isinstance(node.value, str):
        seconds = node.value / 1000
        return made(int(seconds) if seconds.is_integer() else seconds, node)
    given = concatenation(node.text, texts.resolved(node), 0, len(node.text))
    number = piped(given, "convert('float')", "float")
    return translated(node, hole(replace(number, pieces=(*number.pieces, Piece(" / 1000", 0, 0)))))


def _as_text(node: Node) -> Node:
    """A number or a boolean as the text that was written."""
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
