"""Paths: names, properties, items and slices, and what is wrong with following them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.core.types import ANY, NULL, OBJECT, TEXT, ListType, Type
from wfc.infer.environment import Path
from wfc.infer.lookup import FAILED_CHILD, Found, find_item, find_property
from wfc.infer.missing import no_such_item, no_such_property, place_of
from wfc.infer.problems import Kind
from wfc.infer.results import item_of
from wfc.infer.terms import NOTHING, UNDEFINED, is_known, join, kind_of, kinds_of, options, without
from wfc.infer.views import describe
from wfc.structs import struct
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference

_ROOTS = ("state", "inputs")


@struct(frozen=True)
class Reached:
    type: Type
    path: Path | None = None


def follow(walk: Inference, node: nodes.Expr, guarded: bool = False) -> Reached:
    """What stands at the end of a path."""
    if isinstance(node, nodes.Name):
        return _name(walk, node.name)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        return Reached(_slice(walk, node))
    if not isinstance(node, nodes.Getattr | nodes.Getitem):
        return Reached(walk.type_of(node, guarded))
    key = key_of(node)
    base = node.node
    walk.picked.add(id(base))
    if isinstance(base, nodes.Name) and base.name in _ROOTS and base.name not in walk.locals:
        return _field(walk, node, base.name, key, guarded)
    found = _part(walk, node, follow(walk, base, guarded), key, guarded)
    return _narrowed(walk, found)


def key_of(node: nodes.Getattr | nodes.Getitem) -> str | int | None:
    """The name or number behind the dot or in the brackets; None where it is computed."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    value = node.arg.value if isinstance(node.arg, nodes.Const) else None
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _name(walk: Inference, name: str) -> Reached:
    if name in walk.locals:
        return _narrowed(walk, Reached(walk.locals[name], (name,)))
    if name in _ROOTS:
        return Reached(OBJECT, (name,))
    return _narrowed(walk, Reached(walk.environment.names.get(name, ANY), (name,)))


def _narrowed(walk: Inference, reached: Reached) -> Reached:
    path = reached.path
    if path is None:
        return reached
    walk.seen[path] = reached.type
    return Reached(walk.facts[path], path) if path in walk.facts else reached


def _field(walk: Inference, node: nodes.Expr, root: str, key: str | int | None, guarded: bool) -> Reached:
    """A field of the state, or an input. Names that are not there are other rules' business."""
    if not isinstance(key, str):
        if isinstance(node, nodes.Getitem):
            walk.type_of(node.arg)
        return Reached(ANY)
    path = (root, key)
    if root == "inputs":
        return _narrowed(walk, Reached(walk.environment.around.inputs.get(key, ANY), path))
    reached = _narrowed(walk, Reached(walk.environment.state(key), path))
    if guarded or UNDEFINED not in options(reached.type):
        return reached
    walk.report(
        Kind.UNSET,
        place_of(walk, node),
        f"nothing has written `{key}` before this",
        field=key,
        sure=reached.type == UNDEFINED,
    )
    rest = without(reached.type, UNDEFINED)
    return Reached(ANY if rest == NOTHING else rest, path)


def _part(
    walk: Inference, node: nodes.Getattr | nodes.Getitem, base: Reached, key: str | int | None, guarded: bool
) -> Reached:
    if key is None and isinstance(node, nodes.Getitem):
        walk.type_of(node.arg)
    found = find_property(base.type, key) if isinstance(key, str) else find_item(base.type, key)
    path = (*base.path, key) if base.path is not None and key is not None else None
    if guarded:
        gone = found.null or found.optional or found.lacking or found.loose or UNDEFINED in options(base.type)
        kind = join(found.type if found.types else NOTHING, UNDEFINED if gone else NOTHING)
        if isinstance(key, str) and found.lacking and not found.types and not found.null:
            no_such_property(walk, node, key, found.lacking, guarded=True)
        return Reached(kind if kind != NOTHING else ANY, path)
    _check(walk, node, base, key, found, path)
    return Reached(found.type, path)


def _check(
    walk: Inference,
    node: nodes.Getattr | nodes.Getitem,
    base: Reached,
    key: str | int | None,
    found: Found,
    path: Path | None,
) -> None:
    if not found.types and found.lacking:
        if isinstance(key, str):
            no_such_property(walk, node, key, found.lacking)
        elif isinstance(node, nodes.Getitem):
            no_such_item(walk, node, found.lacking)
    elif FAILED_CHILD in found.lacking:
        walk.report(
            Kind.PROPERTY,
            place_of(walk, node),
            f"`{walk.source(node.node)}` has no `{key}` where the child failed: it is `{{error}}` then",
            help=f"leave those out first: `| selectattr('{key}', 'defined')`",
            sure=False,
        )
    elif found.optional is not None and path not in walk.facts:
        null = NULL in options(found.type)
        walk.report(
            Kind.NULLABLE,
            place_of(walk, node),
            f"`{key}` may be missing{' or null' if null else ''}: {describe(found.optional)} need not have it",
            help=f"say what then: `{walk.source(node)} | default(...{', true' if null else ''})`",
            sure=False,
        )
        found.types = [without(found.type, NULL)]
    if found.null:
        _null_base(walk, node, base)


def _null_base(walk: Inference, node: nodes.Getattr | nodes.Getitem, base: Reached) -> None:
    field = base.path[1] if base.path and len(base.path) == 2 and base.path[0] == "state" else None
    walk.report(
        Kind.UNSET if base.type == NULL and field else Kind.NULLABLE,
        place_of(walk, node),
        f"`{walk.source(node.node)}` {'is' if base.type == NULL else 'may be'} null here",
        help=f"test it first: `{walk.source(node)} if {walk.source(node.node)} is not none else ...`",
        field=str(field) if field else None,
        sure=base.type == NULL,
    )


def _slice(walk: Inference, node: nodes.Getitem) -> Type:
    assert isinstance(node.arg, nodes.Slice)
    for bound in (node.arg.start, node.arg.stop, node.arg.step):
        if bound is not None:
            kind = walk.type_of(bound)
            if is_known(kind) and not kinds_of(kind) & {"number", "bool", "null"}:
                words = f"`{walk.source(bound)}` is {describe(kind)}"
                walk.report(Kind.MISMATCH, bound, f"{words}: a slice has whole numbers for bounds")
    kind = walk.type_of(node.node)
    kept = [option for option in options(kind) if kind_of(option) in ("text", "list", "any", "nothing")]
    if not kept:
        words = f"`{walk.source(node.node)}` is {describe(kind)}"
        walk.report(Kind.MISMATCH, node.node, f"{words}: only text and lists have slices")
        return ANY
    return join(*(_sliced(option) for option in kept))


def _sliced(option: Type) -> Type:
    if kind_of(option) == "list":
        return ListType(item_of(option))
    return TEXT if kind_of(option) == "text" else option
