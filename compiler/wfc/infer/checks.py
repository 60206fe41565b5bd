"""Mistakes that only some filters and methods invite: dead defaults, empty splits, first items of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes

from wfc.core.types import NULL, Record, Type
from wfc.infer.environment import Path
from wfc.infer.problems import Change, Kind
from wfc.infer.terms import UNDEFINED, always_true, is_known, kinds_of, options

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference
    from wfc.infer.use import Use

_FINDERS = frozenset({"regex_search", "regex_findall", "select", "selectattr", "reject", "rejectattr"})
_THROUGH = frozenset({"list", "map", "sort", "unique", "reverse"})
_PICKERS = frozenset({"first", "last", "select", "reject"})
_STRIPPING = frozenset({"strip", "trim", "lstrip", "rstrip"})


def check_filter(walk: Inference, node: nodes.Filter, use: Use) -> None:
    if node.name == "parse_json" and node.node is not None:
        _check_parse(walk, node, node.node)
    elif node.name == "split" and node.node is not None:
        _check_split(walk, node, node.node, use)


def check_method(walk: Inference, node: nodes.Call, target: nodes.Getattr, base: Type, use: Use) -> None:
    if target.attr in ("split", "rsplit") and kinds_of(base) == {"text"}:
        use.operand = base
        _check_split(walk, node, target.node, use)


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


def path_of(node: nodes.Expr) -> Path | None:
    names: list[str | int] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        value = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
        if not isinstance(value, str | int):
            return None
        names.append(value)
        node = node.node
    return (node.name, *reversed(names)) if isinstance(node, nodes.Name) else None


# -- items that may not be there -------------------------------------------------


def check_item(walk: Inference, node: nodes.Filter) -> None:
    """`first` and its kin, of what a search found: often that is nothing."""
    source = node.node
    while isinstance(source, nodes.Filter) and source.name in _THROUGH:
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


def mentions(node: nodes.Node, wanted: nodes.Node) -> bool:
    """Whether an expression has another one in it."""
    todo = [node]
    while todo:
        one = todo.pop()
        if one == wanted:
            return True
        todo.extend(one.iter_child_nodes())
    return False


# -- split ---------------------------------------------------------------------


def note_consumer(walk: Inference, node: nodes.Filter | nodes.Call) -> None:
    """Remember what is only picked from: an empty text among the parts does no harm there."""
    if not isinstance(node, nodes.Filter) or node.name not in _PICKERS:
        return
    inner = node.node
    while inner is not None:
        walk.picked.add(id(inner))
        inner = inner.node if isinstance(inner, nodes.Filter) and inner.name in _THROUGH else None


def _check_split(walk: Inference, node: nodes.Filter | nodes.Call, operand: nodes.Expr, use: Use) -> None:
    """Text that may be empty: its parts are one empty text, not none."""
    separator = use.constant("sep")
    if not isinstance(separator, str) or id(node) in walk.picked or kinds_of(use.operand) != {"text"}:
        return
    if all(always_true(option) for option in options(use.operand)) or _is_guarded(walk, operand):
        return
    walk.report(
        Kind.EMPTY_SPLIT,
        _split_place(walk, node),
        "of an empty text `split` makes `['']`, a list with one empty item",
        **_split_fix(walk, node, operand, separator),
    )


def _split_place(walk: Inference, node: nodes.Filter | nodes.Call) -> tuple[int, int]:
    end = walk.template.span(node)[1]
    named = node.node if isinstance(node, nodes.Call) else node
    return walk.template.token_span(named)[0], end


def _split_fix(
    walk: Inference, node: nodes.Filter | nodes.Call, operand: nodes.Expr, separator: str
) -> dict[str, object]:
    start, end = walk.template.span(operand)
    text = walk.template.text[start:end]
    last = walk.template.span(node)[1]
    if separator == "\n" and isinstance(node, nodes.Call):
        changes = (Change(_split_place(walk, node)[0], last, "splitlines()"),)
        return {
            "help": "`.splitlines()` makes `[]` of it",
            "changes": changes,
            "fix": "split into lines",
            "safe": True,
        }
    hint = f"say what then: `... if {text} else []`" if len(text) <= 40 else "test the text first"
    if "\n" in text or len(text) > 80:
        return {"help": hint}
    around = (Change(start, start, "("), Change(last, last, f" if {text} else [])"))
    return {"help": hint, "changes": around, "fix": "make an empty list of an empty text", "safe": True}


def _is_guarded(walk: Inference, operand: nodes.Expr) -> bool:
    """Whether somebody has looked at the text before, or declared that it is not empty."""
    base = operand
    while True:
        if isinstance(base, nodes.Filter) and base.name in _STRIPPING and base.node is not None:
            base = base.node
        elif (
            isinstance(base, nodes.Call)
            and isinstance(base.node, nodes.Getattr)
            and base.node.attr in _STRIPPING
        ):
            base = base.node.node
        else:
            break
    path = path_of(base)
    if path is not None and path in walk.environment.around.nonempty:
        return True
    return any(mentions(held.node, base) for held in walk.held)


# -- parse_json ------------------------------------------------------------------


def _check_parse(walk: Inference, node: nodes.Filter, operand: nodes.Expr) -> None:
    """An agent's own words taken for JSON."""
    while isinstance(operand, nodes.Filter) and operand.name in _STRIPPING and operand.node is not None:
        operand = operand.node
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
