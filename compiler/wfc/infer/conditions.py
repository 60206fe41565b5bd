"""Conditions on edges, taken apart: what each of them says, however it is written.

`a and not b` that came out true says that `a` is true and `b` false. `x != 1` is `x == 1` the other way
round, and `x | length > 0` says no more than `x`. So a condition is known again where it, or its opposite, is
tested later.
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.flow import FlowEdge
from wfc.infer.environment import Held
from wfc.lazy import remembered
from wfc.structs import struct
from wfc.template import Template, parse_template
from wfc_runtime.expr import nodes

_OPPOSITES = {"ne": "eq", "gt": "lteq", "gteq": "lt", "notin": "in"}
_LENGTHS = frozenset({"length", "count"})


@struct(frozen=True)
class Clause:
    """One condition that came out one way."""

    key: str
    """The condition in a form of its own: what means the same has the same."""
    positive: bool
    """How that form came out."""
    template: Template
    node: nodes.Expr
    """The condition as it was written."""
    outcome: bool
    narrows: bool
    """Whether it can tell more about a type than that it has been looked at."""
    names: frozenset[str]
    """What it looks at: `x` for a state field, `inputs.x` for an input. After a write it says nothing."""


def clauses_of_edge(edge: FlowEdge, others: list[FlowEdge]) -> tuple[Clause, ...]:
    """What is known where an edge is taken; `others`: all edges from the same node."""
    if edge.guard is None:
        return ()
    if edge.guard.name == "when":
        return _clauses(edge.guard.text, True)
    if edge.guard.name == "otherwise":
        tests = (other.guard.text for other in others if other.guard and other.guard.name == "when")
        return tuple(clause for text in tests for clause in _clauses(text, False))
    return ()


def _clauses(text: object, outcome: bool) -> tuple[Clause, ...]:
    return _clauses_of_text(text, outcome) if isinstance(text, str) else ()


@remembered(2048)
def _clauses_of_text(text: str, outcome: bool) -> tuple[Clause, ...]:
    template = parse_template(text)
    expression = template.expression if template.ast is not None else None
    return tuple(_split(template, expression, outcome)) if expression is not None else ()


def _split(template: Template, node: nodes.Expr, outcome: bool) -> Iterator[Clause]:
    if isinstance(node, nodes.Not):
        yield from _split(template, node.node, not outcome)
    elif isinstance(node, nodes.And if outcome else nodes.Or):
        yield from _split(template, node.left, outcome)
        yield from _split(template, node.right, outcome)
    else:
        names, key, same = _said(node)
        if names is not None:
            yield Clause(key, outcome == same, template, node, outcome, _narrows(node), names)


@remembered(2048)
def _said(node: nodes.Expr) -> tuple[frozenset[str] | None, str, bool]:
    """What a condition looks at, and its form: the same however it comes out."""
    return names_in(node), *_form(node)


def _narrows(node: nodes.Expr) -> bool:
    """A comparison with a number shows only what reading the number has shown already."""
    if not isinstance(node, nodes.Compare):
        return not isinstance(node, nodes.Filter | nodes.Call)
    other = node.ops[0].expr
    return isinstance(other, nodes.Const) and (other.value is None or isinstance(other.value, str))


def form_of(held: Held) -> tuple[str, bool]:
    """A condition and how it came out, in the form in which it is known again."""
    _, key, same = _said(held.node)
    return key, held.outcome == same


def _form(node: nodes.Expr) -> tuple[str, bool]:
    """The condition in its own form, and whether that form is true when it is."""
    if not isinstance(node, nodes.Compare) or len(node.ops) != 1:
        return repr(node), True
    sign, right = node.ops[0].op, node.ops[0].expr
    zero = isinstance(right, nodes.Const) and right.value == 0
    if (
        zero
        and isinstance(node.expr, nodes.Filter)
        and node.expr.name in _LENGTHS
        and sign in ("gt", "ne", "eq")
    ):
        return repr(node.expr.node), sign != "eq"
    opposite = _OPPOSITES.get(sign)
    return f"{node.expr!r} {opposite or sign} {right!r}", opposite is None


def names_in(node: nodes.Node) -> frozenset[str] | None:
    """The state fields and inputs in an expression; None where it can change for another reason."""
    found: set[str] = set()
    todo: list[nodes.Node] = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, nodes.Call) and isinstance(one.node, nodes.Name):
            return None
        if isinstance(one, nodes.Name) and one.name == "state":
            return None
        if isinstance(one, nodes.Getattr) and isinstance(one.node, nodes.Name):
            root = one.node.name
            if root in ("state", "inputs"):
                found.add(one.attr if root == "state" else f"inputs.{one.attr}")
                continue
        todo += one.children()
    return frozenset(found)


def names_read(template: Template) -> frozenset[str]:
    """The state fields and inputs that a template reads, in the same spelling."""
    found: list[str] = []
    for root, path, *_ in template.reads:
        name = path[0].name if path else None
        if isinstance(name, str) and root in ("state", "inputs"):
            found.append(name if root == "state" else f"inputs.{name}")
    return frozenset(found)
