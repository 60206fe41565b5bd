"""Paths: from `state.build['exit_code']` in the tree to its root and parts."""

from __future__ import annotations

from dataclasses import field

from wfc.structs import struct
from wfc_runtime.expr import nodes
from wfc_runtime.expr.syntax import Syntax

from .model import Part


@struct(slots=True)
class Access:
    """A path in the tree. Its base is a name, or an expression that has no name."""

    base: nodes.Expr
    parts: list[Part] = field(default_factory=list)
    end: int = 0
    others: list[nodes.Expr] = field(default_factory=list)
    """The expressions between its brackets."""

    @property
    def names(self) -> tuple[str | int | None, ...] | None:
        """The root and the names of the parts, if it has a root."""
        if not isinstance(self.base, nodes.Name):
            return None
        return (self.base.name, *(part.name for part in self.parts))


def unwind(syntax: Syntax, node: nodes.Expr, called: bool = False) -> Access:
    """The path that a node ends."""
    parts: list[Part] = []
    others: list[nodes.Expr] = []
    end = 0
    while isinstance(node, (nodes.Getattr, nodes.Getitem)):
        if isinstance(node, nodes.Getattr):
            start, stop = syntax.number_span(node.lineno + 1)  # the name behind the dot
            part, stop_all = Part(node.attr, start, stop, called), stop
        elif isinstance(node.arg, nodes.Slice):
            # A slice is a new value: what comes after it is no part of the path before it.
            others += [bound for bound in (node.arg.start, node.arg.stop, node.arg.step) if bound]
            parts, end, called, node = [], 0, False, node.node
            continue
        else:
            part, stop_all = _subscript(syntax, node)
            if part.name is None:
                others.append(node.arg)
        parts.append(part)
        end = end or stop_all
        called, node = False, node.node
    parts.reverse()
    if isinstance(node, nodes.Name) and not end:
        end = syntax.number_span(node.lineno)[1]
    return Access(node, parts, end, others)


def _subscript(syntax: Syntax, node: nodes.Getitem) -> tuple[Part, int]:
    """The part, and where it ends with its bracket."""
    opener = node.lineno
    if not syntax.is_bracket(opener):
        # `list.0` is an item too, with a dot.
        start, end = syntax.number_span(opener + 1)
        return Part(node.arg.value if isinstance(node.arg, nodes.Const) else None, start, end), end
    closer = syntax.closer(opener)
    start, end = syntax.number_span(opener + 1)[0], syntax.number_span(closer - 1)[1]
    name = node.arg.value if isinstance(node.arg, nodes.Const) else None
    if isinstance(name, str) and closer == opener + 2 and syntax.text[start + 1 : end - 1] == name:
        start, end = start + 1, end - 1
    elif isinstance(name, bool) or not isinstance(name, (str, int)):
        name = None
    return Part(name, start, end), syntax.number_span(closer)[1]
