"""Computed fields: the forms of a transform, and its inputs."""

from __future__ import annotations

from wfc.dialects.base import Reports
from wfc.dialects.reactive.build import mapping
from wfc.dialects.reactive.model import ComputedField
from wfc.dialects.reactive.names import Place
from wfc.dialects.reactive.scripts import kind_of, value_at
from wfc.dialects.reactive.texts import Texts
from wfc.struct import replace, struct
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span


@struct(frozen=True)
class Derived:
    """A computed field as the core has it, the place of its name, and the fields that it reads."""

    node: Mapping
    place: Span
    reads: tuple[str, ...]


def derived(field: ComputedField, name: Span, place: Place, reports: Reports) -> Derived | None:
    """The computed field; None if it has no transform that could be read."""
    if field.transform is None or field.from_ is None:
        return None
    at = field.transform.node.span
    sources = Texts(place, reports)
    inner = Texts(replace(place, local=frozenset(("input",))), reports)
    checked = Texts(replace(place, local=frozenset(("input", "output"))), reports)
    keys: dict[str, Node | str | None] = {"from": _source(field.from_.node, sources)}
    keys["value"] = _transform(field.transform.node, inner)
    if field.on_error:
        keys["on_error"] = field.on_error.node
    if field.fallback is not None:
        keys["fallback"] = field.fallback.node
    if field.validate:
        keys["check"] = checked.expression(field.validate.node)
    reads = tuple({**sources.reads, **inner.reads, **checked.reads})
    return Derived(mapping(at, **keys), name, reads)


def _source(node: Node, texts: Texts) -> Node:
    match node:
        case Sequence():
            return Sequence(node.span, [_source(item, texts) for item in node.items])
        case Scalar() if isinstance(node.value, str):
            return texts.expression(node)
    return node


def _transform(node: Scalar, texts: Texts) -> Scalar:
    # The closing characters are on their own line, so that a comment at the end can't hide them.
    match kind_of(node.text):
        case "object":
            return texts.wrapped(node, "(", "\n)")
        case "body":
            return texts.wrapped(node, "(() => {", "\n})()", returns=value_at(node.text))
    return texts.expression(node)
