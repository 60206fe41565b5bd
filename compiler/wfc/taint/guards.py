"""Expressions that a condition on the way has held against texts of the file: they can be nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from wfc.analysis.types.environment import Given
from wfc_runtime.expr import nodes

_SAME = {("eq", True), ("ne", False), ("in", True), ("notin", False)}


def settled_by(clauses: Iterable[Given]) -> list[nodes.Expr]:
    """`x == 'a'` and `x in ['a', 'b']` that came out true leave no doubt about `x`."""
    found = (_settled(clause.node, clause.outcome) for clause in clauses)
    return [node for node in found if node is not None]


def _settled(node: nodes.Expr, outcome: bool) -> nodes.Expr | None:
    if not isinstance(node, nodes.Compare) or len(node.ops) != 1:
        return None
    operand = node.ops[0]
    if (operand.op, outcome) not in _SAME:
        return None
    if operand.op in ("eq", "ne"):
        return node.expr if isinstance(operand.expr, nodes.Const) else None
    listed = operand.expr
    known = isinstance(listed, nodes.List | nodes.Tuple) and all(
        isinstance(item, nodes.Const) for item in listed.items
    )
    return node.expr if known else None
