"""Expressions taken apart: the value that one starts from, what is done to it, and how to undo that.

`state.build.stdout | trim | int` starts from `("state", "build", "stdout")`; for it to give 7, that has to be "7".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from wfc.explore.patterns import sample
from wfc_runtime.expr import nodes
from wfc_runtime.expr.syntax import parse

Path = tuple[str | int, ...]
_LENGTHS = ("length", "count")
_ARITHMETIC = ("+", "-", "*", "/", "//", "%")


@dataclass(frozen=True)
class Operation:
    name: str
    arguments: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()

    def argument(self, number: int, name: str = "", default: Any = None) -> Any:
        if number < len(self.arguments):
            return self.arguments[number]
        return dict(self.named).get(name, default)


@dataclass(frozen=True)
class Term:
    """A path, and what is done to what stands there, the first thing first."""

    path: Path
    operations: tuple[Operation, ...] = ()

    def then(self, operation: Operation) -> Term:
        return Term(self.path, (*self.operations, operation))

    def then_first(self) -> Term:
        return Term((*self.path, 0)) if not self.operations else self.then(Operation("first"))


def expressions(text: Any) -> Iterator[nodes.Node]:
    """The trees of every template in a value."""
    match text:
        case str():
            ast = parse(text).ast
            if ast is not None:
                yield ast
        case dict():
            for inner in text.values():
                yield from expressions(inner)
        case list() | tuple():
            for inner in text:
                yield from expressions(inner)


def lone(text: Any) -> nodes.Expr | None:
    """The expression of a lone `{{ }}`."""
    if not isinstance(text, str):
        return None
    syntax = parse(text)
    return syntax.expression if syntax.ast is not None and syntax.lone else None


def term_of(node: nodes.Node) -> Term | None:
    """What an expression is made from, if that is one value."""
    match node:
        case nodes.Name():
            return Term((node.name,))
        case nodes.Getattr():
            return _inner(node.node, node.attr)
        case nodes.Getitem() if isinstance(node.arg, nodes.Const):
            key = node.arg.value
            return _inner(node.node, key if isinstance(key, str) else 0)
        case nodes.Getitem():
            return term_of(node.node)
        case nodes.Filter() if node.node is not None:
            return _applied(node.node, node.name, node)
        case nodes.Call() if isinstance(node.node, nodes.Getattr):
            return _applied(node.node.node, node.node.attr, node)
        case nodes.CondExpr():
            return term_of(node.expr1) or (term_of(node.expr2) if node.expr2 else None)
        case nodes.Or():
            return term_of(node.left)
        case nodes.BinExpr() if node.operator in _ARITHMETIC:
            return _computed(node)
    return None


def _computed(node: nodes.BinExpr) -> Term | None:
    """A number that a constant is added to, taken from, multiplied with."""
    for one, other, is_first in ((node.left, node.right, True), (node.right, node.left, False)):
        term = term_of(one)
        if term is not None and isinstance(constant(other), int | float):
            return term.then(
                Operation(node.operator if is_first else f"r{node.operator}", (constant(other),))
            )
    return None


def _inner(node: nodes.Node, key: str | int) -> Term | None:
    term = term_of(node)
    if term is None:
        return None
    if term.operations:
        return term.then(Operation("at", (key,)))
    return Term((*term.path, key))


def _applied(node: nodes.Node, name: str, call: nodes.Filter | nodes.Call) -> Term | None:
    term = term_of(node)
    if term is None:
        return None
    arguments = tuple(constant(one) for one in call.args)
    named = tuple((str(one.key), constant(one.value)) for one in call.kwargs)
    return term.then(Operation(name, arguments, named))


def constant(node: nodes.Node) -> Any:
    """The value of a literal; `None` for anything else."""
    match node:
        case nodes.Const():
            return node.value
        case nodes.List() | nodes.Tuple():
            return [constant(one) for one in node.items]
        case nodes.Neg() if isinstance(node.node, nodes.Const):
            return -node.node.value
        case nodes.TemplateData():
            return node.data
    return None


def is_constant(node: nodes.Node) -> bool:
    match node:
        case nodes.Const():
            return True
        case nodes.List() | nodes.Tuple():
            return all(map(is_constant, node.items))
        case nodes.Neg():
            return isinstance(node.node, nodes.Const)
    return False


def undo(values: Iterable[Any], operations: tuple[Operation, ...]) -> list[Any]:
    """What must stand at the beginning for all that is done to it to give one of some values, as far as can be told."""
    found = list(values)
    for operation in reversed(operations):
        # A length is that of a list, or of a text.
        texts = [_text_of_length(value) for value in found] if operation.name in _LENGTHS else []
        found = [_undone(value, operation) for value in found] + texts
    return found


def _text_of_length(value: Any) -> str:
    return "x" * min(max(int(value), 0), 500) if isinstance(value, int | float) else ""


def _undone(value: Any, operation: Operation) -> Any:
    match operation.name:
        case "length" | "count" if isinstance(value, int | float) and not isinstance(value, bool):
            return ["x"] * min(max(int(value), 0), 500)
        case "first" | "last" | "min" | "max":
            return [value]
        case "int" | "float":
            return str(value)
        case "bool":
            return str(value).lower()
        case "string" | "trim" | "strip" | "tojson":
            return str(value) if isinstance(value, int | float) else value
        case "parse_json":
            return json.dumps(value)
        case "regex_search" | "regex_match":
            wanted = value[0] if isinstance(value, list) and value else value
            found = sample(str(operation.argument(0)), group=None if wanted is None else str(wanted))
            return found if found is not None else value
        case "split":
            separator = operation.argument(0) or " "
            return str(separator).join(map(str, value)) if isinstance(value, list) else str(value)
        case "splitlines":
            return "\n".join(map(str, value)) if isinstance(value, list) else str(value)
        case "join":
            return [value]
        case "at":
            key = operation.argument(0)
            return {key: value} if isinstance(key, str) else [value]
        case "map" if operation.argument(9, "attribute") is not None:
            attribute = str(operation.argument(9, "attribute"))
            return [nest(one, tuple(attribute.split("."))) for one in _listed(value)]
        case "selectattr" | "rejectattr":
            return [_with_attribute(one, operation) for one in _listed(value)]
        case "get":
            return {str(operation.argument(0)): value}
        case "startswith" | "endswith":
            return str(operation.argument(0)) if value else ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _counted_back(value, operation.name, operation.argument(0))
    return value


def _counted_back(value: Any, name: str, by: Any) -> Any:
    match name:
        case "+" | "r+":
            return value - by
        case "-":
            return value + by
        case "r-":
            return by - value
        case "*" | "r*" if by:
            return value // by if value % by == 0 else value / by
        case "/" | "//":
            return value * by
        case "r/" | "r//" if value:
            return by // value if by % value == 0 else by / value
    return value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _with_attribute(value: Any, operation: Operation) -> Any:
    """An item that a `selectattr` keeps, or that a `rejectattr` does not turn away."""
    base = value if isinstance(value, dict) else {}
    wanted = operation.argument(2)
    if isinstance(wanted, list):
        wanted = wanted[0] if wanted else "x"
    if wanted is None:
        wanted = True
    if operation.name == "rejectattr":
        wanted = other_than(wanted)
    name = str(operation.argument(0))
    return {**base, **nest(wanted, tuple(name.split(".")))}


def other_than(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case None:
            return "x"
    return None


def nest(value: Any, path: Path) -> Any:
    """A value inside objects and lists, so that the path leads to it."""
    for part in reversed(path):
        value = {part: value} if isinstance(part, str) else [value]
    return value


def terms_in(tree: nodes.Node) -> Iterator[Term]:
    """Every value that a template reads. The variable of a loop is an item of what it goes over."""
    yield from _terms(tree, {})


def _terms(node: nodes.Node, names: dict[str, Term]) -> Iterator[Term]:
    term = term_of(node)
    if term is not None:
        root = names.get(str(term.path[0]))
        if root is not None:
            steps = tuple(Operation("at", (part,)) for part in term.path[1:])
            whole = (
                Term((*root.path, *term.path[1:]))
                if not root.operations
                else Term(root.path, root.operations + steps)
            )
            term = Term(whole.path, whole.operations + term.operations)
        yield term
    if isinstance(node, nodes.For):
        yield from _terms(node.iter, names)
        over = next(_terms(node.iter, names), None)
        if over is not None and isinstance(node.target, nodes.Name):
            names = {**names, node.target.name: over.then_first()}
        for inner in (*node.body, *node.else_):
            yield from _terms(inner, names)
        return
    for child in node.children():
        yield from _terms(child, names)
