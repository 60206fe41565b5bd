"""What has to stand where for a condition to come out true, or false."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from itertools import islice, product
from typing import Any

from wfc.explore.terms import Path, Term, constant, is_constant, other_than, term_of, undo
from wfc_runtime.expr import nodes

Goal = dict[Path, list[Any]]
"""Paths such as `("state", "build", "exit_code")`, and for each the values that would do, the best first."""

Known = Callable[[Path], Any]
"""What is known to stand at a path, such as the default of an input; None where nothing is."""

_MOST = 6
_MIRRORED = {"lt": "gt", "gt": "lt", "lteq": "gteq", "gteq": "lteq", "eq": "eq", "ne": "ne"}


def solve(node: nodes.Node, want: bool, known: Known) -> list[Goal]:
    """Ways to bring a condition about, none of them sure."""
    return list(islice(_solve(node, want, known), _MOST))


def _solve(node: nodes.Node, want: bool, known: Known) -> Iterator[Goal]:
    match node:
        case nodes.Not():
            yield from _solve(node.node, not want, known)
        case nodes.And() | nodes.Or():
            both = isinstance(node, nodes.And) == want
            left, right = solve(node.left, want, known), solve(node.right, want, known)
            if both:
                yield from (merged(one, other) for one, other in product(left or [{}], right or [{}]))
            else:
                yield from (*left, *right)
        case nodes.Compare() if len(node.ops) == 1:
            yield from _compared(node.expr, node.ops[0].op, node.ops[0].expr, want, known)
        case nodes.Compare() if node.ops:
            yield from _solve(_pairwise(node), want, known)
        case nodes.Test() if node.node is not None:
            yield from _tested(node, want)
        case nodes.Const():
            if bool(node.value) == want:
                yield {}
        case _:
            term = term_of(node)
            if term is not None:
                yield _goal(term, _truthy(term) if want else [False, "", 0, [], None])


def _pairwise(node: nodes.Compare) -> nodes.Expr:
    """`0 <= x < 10` as two comparisons, of which both have to hold."""
    sides = [node.expr, *(one.expr for one in node.ops)]
    parts: list[nodes.Expr] = [
        nodes.Compare(nodes.NOWHERE, sides[number], [operand]) for number, operand in enumerate(node.ops)
    ]
    return reduce(partial(nodes.And, nodes.NOWHERE), parts)


def _truthy(term: Term) -> list[Any]:
    last = term.operations[-1].name if term.operations else ""
    if last in ("length", "count"):
        return [1, 2]
    if last in ("selectattr", "rejectattr", "map", "list", "split", "splitlines", "regex_search"):
        return [["x"]]
    return [True, "x", 1, ["x"], {"x": "x"}]


def merged(one: Goal, other: Goal) -> Goal:
    """Both; where they are about the same place, values that suit both come first."""
    found = dict(one)
    for path, values in other.items():
        before = found.get(path)
        common = [value for value in before if value in values] if before else []
        found[path] = common or values
    return found


def _goal(term: Term, values: list[Any]) -> Goal:
    return {term.path: undo(values, term.operations)}


def _compared(left: nodes.Node, op: str, right: nodes.Node, want: bool, known: Known) -> Iterator[Goal]:
    if is_constant(right):
        term = term_of(left)
        if term is not None:
            yield _goal(term, _values(op, constant(right), want))
        return
    if is_constant(left):
        term = term_of(right)
        if term is None:
            return
        if op in ("in", "notin"):
            inside = (op == "in") == want
            value = constant(left)
            yield _goal(term, [str(value), [value], {str(value): 1}] if inside else ["", []])
        elif op in _MIRRORED:
            yield _goal(term, _values(_MIRRORED[op], constant(left), want))
        return
    yield from _both_sides(term_of(left), op, term_of(right), want, known)


def _both_sides(left: Term | None, op: str, right: Term | None, want: bool, known: Known) -> Iterator[Goal]:
    if left is None or right is None:
        return
    for one, sign, other in ((left, op, right), (right, _MIRRORED.get(op, ""), left)):
        value = known(other.path) if not other.operations else None
        if value is not None and sign:
            yield _goal(one, _values(sign, value, want))
    for base in (1, 50, "x"):
        if op in _MIRRORED:
            yield merged(_goal(left, _values(op, base, want)), _goal(right, [base]))


def _values(op: str, value: Any, want: bool) -> list[Any]:
    match op:
        case "eq" | "ne":
            return [value] if (op == "eq") == want else [other_than(value), None]
        case "in" | "notin":
            options = value if isinstance(value, list) else list(value) if isinstance(value, str) else []
            if (op == "in") == want:
                return options
            outside = [other_than(one) for one in reversed(options)]
            return [one for one in outside if one not in options] or ["x"]
    if not isinstance(value, int | float) or isinstance(value, bool):
        return [value]
    above = {"gt": want, "gteq": want, "lt": not want, "lteq": not want}.get(op, want)
    strict = (op in ("gt", "lt")) == want
    step = 1 if above else -1
    return [value + step, value + 10 * step] if strict else [value, value + step]


def _tested(node: nodes.Test, want: bool) -> Iterator[Goal]:
    term = term_of(node.node)
    if term is None:
        return
    argument = constant(node.args[0]) if node.args and is_constant(node.args[0]) else None
    match node.name:
        case "equalto" | "eq" | "==" | "sameas":
            yield _goal(term, _values("eq", argument, want))
        case "greaterthan" | "gt" | ">":
            yield _goal(term, _values("gt", argument, want))
        case "lessthan" | "lt" | "<":
            yield _goal(term, _values("lt", argument, want))
        case "in":
            yield _goal(term, _values("in", argument, want))
        case "none":
            yield _goal(term, [None] if want else ["x", 1])
        case "defined" | "undefined":
            yield _goal(term, ["x", 1])
        case "string":
            yield _goal(term, ["x"] if want else [1])
        case "sequence" | "iterable":
            yield _goal(term, [["x"]] if want else [1, {"x": 1}])
        case "mapping":
            yield _goal(term, [{"x": "x"}] if want else ["x", ["x"]])
        case "number" | "integer":
            yield _goal(term, [1] if want else ["x"])
        case "true" | "false":
            yield _goal(term, [(node.name == "true") == want])
        case "even" | "odd":
            yield _goal(term, [2 if (node.name == "even") == want else 1])
