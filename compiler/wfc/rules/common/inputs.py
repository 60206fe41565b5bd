"""Inputs: their validation rules, the values that violate them, and the values that a foreach or call passes to its
child."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from wfc.caching import cached
from wfc.language.ast import Scope
from wfc.language.dialect import Language
from wfc.language.fields import kind_of
from wfc.language.shape import NUMERIC, InputDecl, Shape
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import Child
from wfc.language.values import plain
from wfc.project import SourceFile
from wfc.rules.common.hints import quote
from wfc.rules.common.state import keys_of, names_of
from wfc.struct import struct
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Span
from wfc.yaml.explain import excerpt
from wfc.yaml.nodes import resolve_plain
from wfc_runtime.expr import DEFAULT_LIMITS, ExpressionError
from wfc_runtime.expr.filters.patterns import regex_search
from wfc_runtime.expr.run import Run

# Patterns don't depend on the time, but the evaluator needs one.
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


@cached(64)
def pattern_error(pattern: str) -> str | None:
    """Why a pattern can't be used; None if it can."""
    try:
        _search(pattern, "")
    except ExpressionError as error:
        return error.message
    return None


def is_found(pattern: str, text: str) -> bool:
    """Whether a valid pattern occurs in the text. A search that takes too long counts as a match."""
    try:
        return _search(pattern, text)
    except ExpressionError:
        return True


def _search(pattern: str, text: str) -> bool:
    # The evaluator of the runtime, so that a pattern means the same in both.
    run = Run({}, _ANY_TIME, uuid_seed="", limits=DEFAULT_LIMITS, hidden=frozenset())
    return bool(regex_search(run, text, pattern))


class RuleSet:
    """The constraints of a value: its type, and the rules in `validation` or beside the type."""

    def __init__(self, kind: str, holders: list[Shape]) -> None:
        self.kind = kind
        self.holders = holders

    @classmethod
    def of(cls, decl: InputDecl) -> RuleSet:
        # Rules may be written beside the type or in `validation`; the latter wins.
        return cls(decl.kind, [*([decl.validation] if decl.validation else []), decl])

    def get(self, name: str) -> Any:
        """The plain value of a rule; None if it is missing or has the wrong type."""
        holder = self._holder(name)
        found = holder.values[name] if holder else None
        if isinstance(found, list):
            return [word.text for word in found]
        if found is None or isinstance(found, dict):
            return found
        return plain(found.node)

    def span(self, name: str) -> Span | None:
        holder = self._holder(name)
        return holder.value_span(name) if holder else None

    def _holder(self, name: str) -> Shape | None:
        return next((holder for holder in self.holders if name in holder.values), None)


@struct(frozen=True)
class Misfit:
    """A value that violates a rule, and the span of the rule."""

    span: Span
    message: str
    rule: Span | None = None
    help: str = "change the value, or the rule"


def misfits(rules: RuleSet, node: Node, what: str, *, beside_enum: bool = False) -> Iterator[Misfit]:
    """Why the rules do not allow a value; `what` is its name in messages."""
    of_kind = _IS_KIND.get(rules.kind)
    if of_kind is None:
        return
    # Rules of another kind can't be applied to the value.
    if not of_kind(node):
        message = f"{what} is {kind_of(node)}, and must be {with_article(rules.kind)}"
        yield Misfit(node.span, message, help=_other_kind(rules.kind, node))
        return
    if not beside_enum:
        yield from _enum(rules, node, what)
    yield from _CHECKS[rules.kind](rules, node, what)


def _is_number(node: Node) -> bool:
    value = node.value if isinstance(node, Scalar) else None
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


_IS_KIND: dict[str, Callable[[Node], bool]] = {
    "string": lambda node: isinstance(node, Scalar) and isinstance(node.value, str),
    "number": _is_number,
    "integer": lambda node: _is_number(node) and isinstance(plain(node), int),
    "boolean": lambda node: isinstance(node, Scalar) and isinstance(node.value, bool),
    "array": lambda node: isinstance(node, Sequence),
    "object": lambda node: isinstance(node, Mapping),
}


def _other_kind(kind: str, node: Node) -> str:
    """How to write the value that was probably meant as the declared type."""
    text = node.text.strip() if isinstance(node, Scalar) and len(node.text) <= 60 else ""
    if kind == "string" and text:
        return f"quote it: {quote(text)}"
    if kind == "boolean" and text.lower() in ("yes", "on", "true", "no", "off", "false"):
        return f"write `{str(text.lower() in ('yes', 'on', 'true')).lower()}`"
    is_said = isinstance(resolve_plain(text), int if kind == "integer" else int | float) if text else False
    if kind in NUMERIC and is_said and isinstance(plain(node), str):
        return f"write it without quotes: `{text}`"
    if kind == "array" and text:
        return f"put it in brackets: `[{text}]`"
    return "change the value, or the `type`"


def with_article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _enum(rules: RuleSet, node: Node, what: str) -> Iterator[Misfit]:
    allowed = rules.get("enum")
    value = plain(node)
    if isinstance(allowed, list) and not any(_is_same(one, value) for one in allowed):
        shown = ", ".join(f"`{excerpt(str(one))}`" for one in allowed[:8]) + (
            ", ..." if len(allowed) > 8 else ""
        )
        yield Misfit(node.span, f"{what} is not an allowed value: {shown}", rules.span("enum"))


def _is_same(one: Any, other: Any) -> bool:
    """Equality without Python's `1 == True`."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _string(rules: RuleSet, node: Node, what: str) -> Iterator[Misfit]:
    assert isinstance(node, Scalar)
    yield from _size(rules, node, what, len(node.text), "length", "character")
    pattern = rules.get("pattern")
    if isinstance(pattern, str) and not pattern_error(pattern) and not is_found(pattern, node.text):
        message = f"{what} does not match the pattern `{excerpt(pattern, 60)}`"
        yield Misfit(node.span, message, rules.span("pattern"))


def _number(rules: RuleSet, node: Node, what: str) -> Iterator[Misfit]:
    value = plain(node)
    least, most = rules.get("min"), rules.get("max")
    if least is not None and value < least:
        yield Misfit(node.span, f"{what} is below `min`, which is {least}", rules.span("min"))
    if most is not None and value > most:
        yield Misfit(node.span, f"{what} is above `max`, which is {most}", rules.span("max"))


def _array(rules: RuleSet, node: Node, what: str) -> Iterator[Misfit]:
    assert isinstance(node, Sequence)
    yield from _size(rules, node, what, len(node.items), "items", "item")
    kind = rules.get("item_type")
    for item in node.items if kind in _IS_KIND else ():
        if not _IS_KIND[kind](item):
            message = f"an item of {what} is {kind_of(item)}, and `item_type` is {kind}"
            yield Misfit(item.span, message, rules.span("item_type"))


def _object(rules: RuleSet, node: Node, what: str) -> Iterator[Misfit]:
    assert isinstance(node, Mapping)
    # Reversed: of duplicate keys the first counts, as everywhere.
    present = {entry.key.text: entry.value for entry in reversed(node.entries)}
    properties: dict[str, InputDecl] = rules.get("properties") or {}
    listed = rules.get("required_keys") or []
    for key in dict.fromkeys([*listed, *(name for name, decl in properties.items() if decl.is_required)]):
        if key not in present:
            place = rules.span("required_keys") if key in listed else properties[key].span
            yield Misfit(node.span, f"{what} has no `{excerpt(key)}`, which is required", place)
    for key, decl in properties.items():
        value = present.get(key)
        # Null for an optional property means that it is left out.
        if value is not None and not (_is_null(value) and not decl.is_required):
            yield from misfits(RuleSet.of(decl), value, f"`{excerpt(key)}` of {what}")


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _size(rules: RuleSet, node: Node, what: str, size: int, rule: str, noun: str) -> Iterator[Misfit]:
    least, most = rules.get(f"min_{rule}"), rules.get(f"max_{rule}")
    nouns = f"{size} {noun}" if size == 1 else f"{size} {noun}s"
    if least is not None and size < least:
        yield Misfit(node.span, f"{what} has {nouns}, and `min_{rule}` is {least}", rules.span(f"min_{rule}"))
    if most is not None and size > most:
        yield Misfit(node.span, f"{what} has {nouns}, and `max_{rule}` is {most}", rules.span(f"max_{rule}"))


_CHECKS: dict[str, Callable[[RuleSet, Node, str], Iterator[Misfit]]] = {
    "string": _string,
    "number": _number,
    "integer": _number,
    "boolean": lambda rules, node, what: iter(()),
    "array": _array,
    "object": _object,
}


@struct(frozen=True)
class Binding:
    """One step that runs a child."""

    scope: Scope
    run: Child
    child: Scope
    title: str
    """The name of the child in messages: "the task `audit_module`"."""
    declared: list[str]
    given: Mapping | None
    """The entries of `with`, if there is one."""

    @property
    def step(self) -> Step:
        return self.run.step

    @property
    def keys(self) -> set[str]:
        return {entry.key.text for entry in self.given.entries} if self.given else set()

    @property
    def needed(self) -> dict[str, InputDecl]:
        """The required inputs of the child."""
        inputs = self.child.declared_inputs
        return {
            name: decl for name, decl in inputs.items() if decl.is_required and "default" not in decl.values
        }

    @property
    def unbound(self) -> list[str]:
        keys = self.keys
        return [name for name in self.declared if name not in keys]

    def unknown_entries(self) -> list[Entry]:
        """The entries of `with` that are not inputs of the child."""
        declared = set(self.declared)
        return [entry for entry in self.given.entries if entry.key.text not in declared] if self.given else []

    def guess(self, language: Language, names: list[str]) -> dict[str, str] | None:
        """Values for missing inputs, as YAML: values of the same name in this scope, and the item for one more."""
        here = names_of(self.scope)
        found: dict[str, str] = {}
        for name in names:
            if name in here.inputs:
                found[name] = language.name_of("inputs", name)
            elif name in here.fields:
                found[name] = language.name_of("state", name)
            elif self.run.is_task and not self._uses_item and "item" not in found.values():
                # Only one input can be the item.
                found[name] = "item"
        if len(found) < len(names):
            return None
        return {name: f'"{language.hole(path)}"' for name, path in found.items()}

    @property
    def _uses_item(self) -> bool:
        trees = (self.run.inputs or {}).values()
        return any(
            read.root == "item" for tree in trees for text in tree.texts for read in text.template.reads
        )


def bindings(file: SourceFile) -> Iterator[Binding]:
    """Every step that runs an existing child, with the inputs that it passes."""
    for scope in file.scopes:
        for step in scope.walk():
            run = step.child()
            if run is not None:
                yield from _binding(file, scope, run)


def _binding(file: SourceFile, scope: Scope, run: Child) -> Iterator[Binding]:
    child, title = _scope_of(file, run)
    declared = keys_of(child, "inputs") if child else None
    given = run.step.node.get("with")
    # A `with` that is not a mapping is reported by another rule.
    if child is not None and declared is not None and (given is None or isinstance(given, Mapping)):
        yield Binding(scope, run, child, title, declared, given)


def _scope_of(file: SourceFile, run: Child) -> tuple[Scope | None, str]:
    """The task or workflow that a step runs, and its name in messages."""
    if run.name is None or file.workflow is None:
        return None, ""
    name = run.name.text
    if run.is_task:
        return file.workflow.declared_tasks.get(name), f"the task `{name}`"
    found = file.project.named(name)
    return found[0].workflow if found else None, f"the workflow `{name}`"
