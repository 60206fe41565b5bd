"""Items that may not be there: `first`, `max`, `[0]` and the like on a list or a text that may be empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jinja2 import nodes

from wfc.analysis.types.environment import Kind, mentions, path_of
from wfc.analysis.types.lattice import EMPTY_LIST, describe, is_known, kind_of, least_of, options
from wfc.language.types import NULL, Type

if TYPE_CHECKING:
    from wfc.analysis.types.expressions import Inference

THROUGH = frozenset({"list", "map", "sort", "unique", "reverse"})
"""Filters that keep the items of a list, or nearly all."""
_FINDERS = frozenset({"regex_search", "regex_findall", "select", "selectattr", "reject", "rejectattr"})


def check_item(walk: Inference, node: nodes.Filter, operand: Type) -> None:
    """Report `first`, `max` and the like of a list that may be empty."""
    if node.node is None:
        return
    finder = _finder(node.node)
    # The result of a search is often empty, regardless of its type.
    if finder is None and not _is_short(operand, 1):
        return
    # The author has already tested the list.
    if _is_guarded(walk, node.node):
        return
    if finder is not None:
        message = f"there is no `{node.name}` item if `{finder}` finds nothing"
    elif operand == EMPTY_LIST:
        message = f"`{walk.source(node.node)}` is empty here: it has no `{node.name}` item"
    else:
        message = f"`{walk.source(node.node)}` may be empty: then it has no `{node.name}` item"
    walk.report(
        Kind.EMPTY,
        walk.template.token_span(node),
        message,
        help=f"supply a fallback: `| {node.name} | default(...)`",
        sure=operand == EMPTY_LIST,
        only_possible=finder is None and operand != EMPTY_LIST,
    )


def check_index(walk: Inference, node: nodes.Getitem, base: Type, index: int, place: tuple[int, int]) -> None:
    """Report an item by its number in a list or a text that may have fewer items."""
    # A negative index counts from the end.
    needed = index + 1 if index >= 0 else -index
    finder = _finder(node.node)
    if not _is_short(base, needed) or _is_guarded(walk, node.node, needed):
        return
    text = walk.source(node.node)
    if finder is not None:
        message = f"there is no item `{index}` if `{finder}` finds nothing"
    elif base == EMPTY_LIST:
        message = f"`{text}` is empty here: it has no item `{index}`"
    elif needed == 1:
        message = f"`{text}` may be empty: then it has no item `{index}`"
    else:
        things = "characters" if describe(base) == "text" else "items"
        message = f"`{text}` may have fewer than {needed} {things}: then it has no item `{index}`"
    walk.report(
        Kind.EMPTY,
        place,
        message,
        help=f"supply a fallback: `{walk.source(node)} | default(...)`",
        sure=base == EMPTY_LIST,
        only_possible=finder is None and base != EMPTY_LIST,
    )


def _is_short(kind: Type, needed: int) -> bool:
    """Whether a list or a text of this type may have fewer items. Unknown types are not reported."""
    present = [option for option in options(kind) if option != NULL]
    # Values that are only sometimes lists are not reported.
    if not is_known(kind) or not present or any(kind_of(one) not in ("list", "text") for one in present):
        return False
    return any(least_of(option) < needed for option in present)


def _finder(node: nodes.Expr) -> str | None:
    """The filter that looks for the items, if the list is the result of a search: it is often empty."""
    while isinstance(node, nodes.Filter) and node.name in THROUGH and node.node is not None:
        node = node.node
    return node.name if isinstance(node, nodes.Filter) and node.name in _FINDERS else None


def _is_guarded(walk: Inference, node: nodes.Expr, needed: int = 1) -> bool:
    """Whether a condition around it looks at the list, or at the text or list that it is computed from."""
    nonempty = walk.environment.around.nonempty
    for source in _sources(node):
        # A declared text has at least one character, and no more than that is known.
        if needed == 1 and path_of(source) in nonempty:
            return True
        if any(mentions(held.node, source) for held in walk.held):
            return True
    return False


def _sources(node: nodes.Expr) -> Iterator[nodes.Expr]:
    """The expression, and what its filters and methods are applied to."""
    while True:
        yield node
        if isinstance(node, nodes.Filter) and node.node is not None:
            node = node.node
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            node = node.node.node
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
            node = node.node
        else:
            return
