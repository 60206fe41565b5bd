"""Small questions about the tree of an expression."""

from __future__ import annotations

from wfc.infer.environment import Path
from wfc_runtime.expr import nodes

STRIPPING = frozenset({"strip", "trim", "lstrip", "rstrip"})


def path_of(node: nodes.Expr) -> Path | None:
    names: list[str | int] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        value = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
        if not isinstance(value, str | int):
            return None
        names.append(value)
        node = node.node
    return (node.name, *reversed(names)) if isinstance(node, nodes.Name) else None


def mentions(node: nodes.Node, wanted: nodes.Node) -> bool:
    """Whether an expression has another one in it."""
    todo = [node]
    while todo:
        one = todo.pop()
        if one == wanted:
            return True
        todo += one.children()
    return False


def stripped(node: nodes.Expr) -> nodes.Expr:
    """What white space is taken off, where it is."""
    while True:
        if isinstance(node, nodes.Filter) and node.name in STRIPPING and node.node is not None:
            node = node.node
        elif (
            isinstance(node, nodes.Call)
            and isinstance(node.node, nodes.Getattr)
            and node.node.attr in STRIPPING
        ):
            node = node.node.node
        else:
            return node
