"""Mistakes that only some filters and methods invite: dead defaults, first items of nothing, parsed prose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.core.types import NULL, Record, Type
from wfc.infer.problems import Change, Kind
from wfc.infer.splits import THROUGH, check_split
from wfc.infer.syntax import mentions, path_of, stripped
from wfc.infer.terms import UNDEFINED, is_known, kinds_of, options
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference
    from wfc.infer.use import Use

_FINDERS = frozenset({"regex_search", "regex_findall", "select", "selectattr", "reject", "rejectattr"})


def check_filter(walk: Inference, node: nodes.Filter, use: Use) -> None:
    if node.name == "parse_json" and node.node is not None:
        _check_parse(walk, node, node.node)
    elif node.name == "split" and node.node is not None:
        check_split(walk, node, node.node, use)


def check_method(walk: Inference, node: nodes.Call, target: nodes.Getattr, base: Type, use: Use) -> None:
    if target.attr in ("split", "rsplit") and kinds_of(base) == {"text"}:
        use.operand = base
        check_split(walk, node, target.node, use)


# -- default -------------------------------------------------------------------


def check_default(walk: Inference, node: nodes.Filter, use: Use) -> None:
    """A default behind a value that is never undefined."""
    kind, operand = use.operand, node.node
    if (
        operand is None
        or use.given("boolean") is not None
        or not is_known(kind)
        or UNDEFINED in options(kind)
    ):
        return
    if _was_tested(walk, operand):
        return
    text = walk.source(operand)
    place = walk.template.token_span(node)
    start = len(walk.template.text[: walk.template.text.rfind("|", 0, place[0])].rstrip())
    end = _end_of(walk, node)
    if NULL in options(kind):
        closing = walk.template.text[:end].endswith(")") and node.args
        walk.report(
            Kind.DEAD_DEFAULT,
            place,
            f"`{text}` is null where it has no value, and `default` leaves null as it is",
            help="`default(..., true)` takes the place of null and of what is empty too",
            changes=(Change(end - 1, end - 1, ", true"),) if closing else (),
            fix="let the default replace null" if closing else "",
        )
        return
    walk.report(
        Kind.DEAD_DEFAULT,
        place,
        f"`{text}` is always there, so this default is never used",
        help="take it away; for a value that may be empty, write `default(..., true)`",
        changes=(Change(start, end, ""),),
        fix="remove the default",
        safe=True,
    )


def _end_of(walk: Inference, node: nodes.Filter) -> int:
    """Where a filter ends, with its arguments: behind an empty pair of brackets the tree knows nothing of."""
    end = walk.template.span(node)[1]
    rest = walk.template.text[end:].lstrip()
    if node.args or node.kwargs or not rest.startswith("("):
        return end
    return len(walk.template.text) - len(rest) + rest.index(")") + 1


def _was_tested(walk: Inference, node: nodes.Expr) -> bool:
    """Whether a test around the place has made a type narrower: the default may be there for the wider one."""
    path = path_of(node)
    return path is not None and any(path[:length] in walk.facts for length in range(1, len(path) + 1))


# -- items that may not be there -------------------------------------------------


def check_item(walk: Inference, node: nodes.Filter) -> None:
    """`first` and its kin, of what a search found: often that is nothing."""
    source = node.node
    while isinstance(source, nodes.Filter) and source.name in THROUGH:
        source = source.node
    if not isinstance(source, nodes.Filter) or source.name not in _FINDERS:
        return
    if any(mentions(held.node, source) for held in walk.held):
        return
    walk.report(
        Kind.NULLABLE,
        walk.template.token_span(node),
        f"there is no `{node.name}` item where `{source.name}` finds nothing",
        help=f"say what then: `| {node.name} | default(...)`",
        sure=False,
    )


# -- parse_json ------------------------------------------------------------------


def _check_parse(walk: Inference, node: nodes.Filter, operand: nodes.Expr) -> None:
    """An agent's own words taken for JSON."""
    operand = stripped(operand)
    path = path_of(operand)
    base = walk.seen.get(path[:-1]) if path and path[-1] == "response" else None
    if base is None or not any(
        isinstance(one, Record) and one.name == "DelegateResult" for one in options(base)
    ):
        return
    walk.report(
        Kind.UNCHECKED_PARSE,
        walk.template.token_span(node),
        f"`{walk.source(operand)}` is whatever the agent wrote: if it is not JSON, this step fails",
        field=str(path[1]) if path and path[0] == "state" else None,
        sure=False,
    )
