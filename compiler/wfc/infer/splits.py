"""Text that may be empty, split: its parts are one empty text, not none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.infer.problems import Change, Kind
from wfc.infer.syntax import mentions, path_of, stripped
from wfc.infer.terms import always_true, kinds_of, options
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference
    from wfc.infer.use import Use

_PICKERS = frozenset({"first", "last", "select", "reject"})
THROUGH = frozenset({"list", "map", "sort", "unique", "reverse"})
"""Filters that give a list with as many items, or nearly so."""


def note_consumer(walk: Inference, node: nodes.Filter | nodes.Call) -> None:
    """Remember what is only picked from: an empty text among the parts does no harm there."""
    if not isinstance(node, nodes.Filter) or node.name not in _PICKERS:
        return
    inner = node.node
    while inner is not None:
        walk.picked.add(id(inner))
        inner = inner.node if isinstance(inner, nodes.Filter) and inner.name in THROUGH else None


def check_split(walk: Inference, node: nodes.Filter | nodes.Call, operand: nodes.Expr, use: Use) -> None:
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
    base = stripped(operand)
    path = path_of(base)
    if path is not None and path in walk.environment.around.nonempty:
        return True
    return any(mentions(held.node, base) for held in walk.held)
