"""Saying that a value has no such property, item or method, and what was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wfc.core.types import Record, Type
from wfc.infer.lookup import property_names
from wfc.infer.problems import Change, Kind
from wfc.infer.signatures import METHODS
from wfc.infer.terms import join, kind_of
from wfc.infer.views import describe
from wfc.suggest import did_you_mean, nearest
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference

_SIZES = frozenset({"length", "len", "size", "count"})
_SIZED = frozenset({"text", "list", "object"})


def place_of(walk: Inference, node: nodes.Expr) -> tuple[int, int]:
    """Where the name behind the dot, or what is in the brackets, stands."""
    if isinstance(node, nodes.Getitem):
        return inside_quotes(walk, node.arg)
    return walk.template.token_span(node)


def inside_quotes(walk: Inference, node: nodes.Expr) -> tuple[int, int]:
    """The place of an expression; of a text, without its quotes where they are just around it."""
    start, end = walk.template.span(node)
    value = node.value if isinstance(node, nodes.Const) else None
    if isinstance(value, str) and walk.template.text[start + 1 : end - 1] == value:
        return start + 1, end - 1
    return start, end


def no_such_property(
    walk: Inference,
    node: nodes.Getattr | nodes.Getitem,
    name: str,
    lacking: list[Type],
    guarded: bool = False,
) -> None:
    """Behind `default` or `is defined` only a name that is nearly the right one is worth a word."""
    place = place_of(walk, node)
    known = list(dict.fromkeys(property_names(lacking)))
    near = nearest(name, known)
    if guarded and near is None:
        return
    more = _method_meant(name, lacking, place) or _size_meant(walk, node, name, lacking, place)
    # An object that may have more than is declared: a name that is not like any other need not be a slip.
    is_open = all(isinstance(one, Record) and one.open for one in lacking)
    possible = is_open and (guarded or near is None)
    words = f"{subject(walk, node.node, lacking)} no property `{name[:60]}`"
    walk.report(
        Kind.PROPERTY,
        place,
        f"{words} that anything declares" if possible else words,
        sure=not possible,
        **(more or _name_meant(name, near, known, place)),
    )


def subject(walk: Inference, node: nodes.Expr, lacking: list[Type]) -> str:
    """ "`state.build` is a shell result: it has", for a sentence to go on."""
    words = describe(join(*lacking))
    thing = f"`{walk.source(node)}`"
    return f"{thing} has" if words == "an object" else f"{thing} is {words}: it has"


def no_such_item(walk: Inference, node: nodes.Getitem, lacking: list[Type]) -> None:
    words = describe(join(*lacking))
    key = walk.source(node.arg)
    walk.report(
        Kind.PROPERTY,
        place_of(walk, node),
        f"`{walk.source(node.node)}` is {words}: it has no item `{key}`",
        help="items by number are for lists and text",
    )


def no_such_part(
    walk: Inference, place: tuple[int, int], name: str, lacking: list[Type], guarded: bool = False
) -> None:
    """The same for a name in a filter's argument, as in `map(attribute='name')`."""
    known = list(dict.fromkeys(property_names(lacking)))
    near = nearest(name, known)
    if guarded and near is None:
        return
    words = describe(join(*lacking))
    items = "the items have" if words == "an object" else f"each item is {words}: it has"
    is_open = all(isinstance(one, Record) and one.open for one in lacking)
    possible = is_open and (guarded or near is None)
    message = f"{items} no property `{name[:60]}`{' that anything declares' if possible else ''}"
    walk.report(Kind.PROPERTY, place, message, sure=not possible, **_name_meant(name, near, known, place))


def _name_meant(name: str, near: str | None, known: list[str], place: tuple[int, int]) -> dict[str, Any]:
    changes = (Change(*place, near),) if near and near.isidentifier() else ()
    fix = f"rename it to {near}" if changes else ""
    return {"help": did_you_mean(name, known), "changes": changes, "fix": fix}


def _method_meant(name: str, lacking: list[Type], place: tuple[int, int]) -> dict[str, Any] | None:
    if not all(name in METHODS.get(kind_of(one), {}) for one in lacking):
        return None
    needs = any(parameter.required for one in lacking for parameter in METHODS[kind_of(one)][name].parameters)
    if needs:
        return {"help": f"`{name}` is a method: write `{name}(...)`"}
    changes = (Change(place[1], place[1], "()"),)
    return {"help": f"`{name}` is a method: write `{name}()`", "changes": changes, "fix": "call the method"}


def _size_meant(
    walk: Inference, node: nodes.Expr, name: str, lacking: list[Type], place: tuple[int, int]
) -> dict[str, Any] | None:
    if name not in _SIZES or not all(kind_of(one) in _SIZED for one in lacking):
        return None
    dot = walk.template.text[: place[0]].rstrip()
    is_dot = isinstance(node, nodes.Getattr) and dot.endswith(".")
    changes = (Change(len(dot) - 1, place[1], " | length"),) if is_dot else ()
    return {"help": "its size is `| length`", "changes": changes, "fix": "use the filter" if changes else ""}
