"""The outputs of a workflow as the value that its last step returns."""

from __future__ import annotations

from wfc.dialects.blocks.conditions import ConditionError, Node, read_condition, references, to_expression
from wfc.dialects.blocks.expressions import Expr, as_bool, piped
from wfc.dialects.blocks.kinds import Mode
from wfc.dialects.blocks.model import VALUE_TYPES, BlocksFile, WorkflowOutput
from wfc.dialects.blocks.pieces import made, translated
from wfc.dialects.blocks.references import Resolve
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.resolving import Site, World
from wfc.dialects.blocks.texts import Texts, concatenation, hole
from wfc.language.values import Tree
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Scalar, Sequence
from wfc.yaml import Node as SourceNode

_FITTING: dict[str, tuple[str, ...]] = {
    "str": ("str",),
    "int": ("int",),
    "float": ("int", "float"),
    "bool": ("bool",),
    "list": ("list",),
    "dict": ("dict",),
    "json": ("int", "float", "bool", "list", "dict"),
}
"""The types that are already what an output is declared to be."""
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
        condition = _condition(node.text)
        if condition is not None:
            value = as_bool(to_expression(condition, self._resolving(node)))
            self.site.reads |= dict.fromkeys(sorted(value.reads))
            return _written(node, value, kind)
        if kind in (None, "str"):
            return self._texts.scalar(node, Mode.TEXT if kind else Mode.DATA)
        text = node.text.strip()
        start = node.text.index(text)
        moved = [
            (replace(one, start=one.start - start, end=one.end - start), value)
            for one, value in self._texts.resolved(node)
        ]
        return _written(node, concatenation(text, moved, start, start + len(text)), kind)

    def _resolving(self, node: Scalar) -> Resolve:
        return lambda reference: self._reports.resolved(reference, node, self.site)


def _condition(text: str) -> Node | None:
    """A text that compares or combines: it is a condition, where it can be read as one."""
    try:
        found = read_condition(text)
    except ConditionError:
        return None
    return found if found.word in _COMPARING and any(references(found)) else None


def _written(node: Scalar, value: Expr, kind: str | None) -> Scalar:
    """The value in the type that was declared."""
    if kind is not None and value.type not in _FITTING[kind]:
        value = piped(value, f"convert('{kind}')", kind)
    if value.is_constant:
        return made(value.constant, node)
    return translated(node, hole(value))
