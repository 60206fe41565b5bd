"""Solve conditions: the values that make an expression true, false, or equal to something.

An expression is split into the value it starts from and the operations on it, which can be inverted:
`state.build.stdout | trim | int` starts from `("state", "build", "stdout")`, and is 7 if that value is "7".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice, product
from random import Random
from re import _parser as parser  # type: ignore[attr-defined]  # not public, and the only reader of patterns there is
from typing import Any

from jinja2 import nodes

from wfc.language.values import template_of

# Texts that match a regular expression.

# In the order of preference: the first character that a class allows is used.
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 _-ABCDEFGHIJKLMNOPQRSTUVWXYZ./:"
_CATEGORIES = {"DIGIT": "7", "WORD": "a", "SPACE": " ", "NOT_DIGIT": "a", "NOT_WORD": " ", "NOT_SPACE": "a"}


def sample(pattern: str, random: Random | None = None, group: str | None = None) -> str | None:
    """A text that the pattern matches; None if none can be constructed easily. `group`: the text of its first group."""
    try:
        made = _Sampler(random, group).all(parser.parse(pattern))
        # The sampler ignores anchors and look-around, so its text is tested.
        found = re.search(pattern, made)
    except (re.error, RecursionError, OverflowError, KeyError):
        return None
    return made if found else None


class _Sampler:
    def __init__(self, random: Random | None, group: str | None) -> None:
        self._random = random
        self._group = group

    def all(self, tree: Any) -> str:
        return "".join(self._one(kind, value) for kind, value in tree)

    def _one(self, kind: Any, value: Any) -> str:
        match str(kind):
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return next(char for char in _LETTERS if ord(char) != value)
            case "ANY":
                return "x"
            case "IN":
                return self._in(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = value
                count = int(least)
                if self._random is not None:
                    # Short texts, so that a case stays readable.
                    count = self._random.randint(count, min(int(most), count + 3))
                # A pattern such as `a{100000}` should not produce a huge text.
                return "".join(self.all(inner) for _ in range(min(count, 200)))
            case "SUBPATTERN":
                if value[0] == 1 and self._group is not None:
                    return self._group
                return self.all(value[3])
            case "BRANCH":
                branches = value[1]
                return self.all(self._random.choice(branches) if self._random else branches[0])
            case "CATEGORY":
                return _CATEGORIES[str(value).removeprefix("CATEGORY_")]
        return ""

    def _in(self, options: Any) -> str:
        negated = str(options[0][0]) == "NEGATE"
        if negated:
            return next(char for char in _LETTERS if not any(_holds(one, char) for one in options[1:]))
        kind, value = self._random.choice(options) if self._random else options[0]
        if str(kind) == "RANGE":
            return chr(self._random.randint(*value) if self._random else value[0])
        return self._one(kind, value)


def _holds(option: Any, char: str) -> bool:
    kind, value = option
    match str(kind):
        case "LITERAL":
            return bool(ord(char) == value)
        case "RANGE":
            return bool(value[0] <= ord(char) <= value[1])
    kind_of_char = {"DIGIT": r"\d", "WORD": r"\w", "SPACE": r"\s"}.get(str(value).removeprefix("CATEGORY_"))
    return kind_of_char is not None and re.fullmatch(kind_of_char, char) is not None


Path = tuple[str | int, ...]
JSON = "\0json"
"""In a path, the value of a text that is parsed as JSON."""
_LENGTHS = ("length", "count")
_ARITHMETIC = ("+", "-", "*", "/", "//", "%")


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    arguments: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()

    def argument(self, number: int, name: str = "", default: Any = None) -> Any:
        if number < len(self.arguments):
            return self.arguments[number]
        return dict(self.named).get(name, default)


@dataclass(frozen=True, slots=True)
class Term:
    """A path, and the operations on its value in order."""

    path: Path
    operations: tuple[Operation, ...] = ()

    def then(self, operation: Operation) -> Term:
        return Term(self.path, (*self.operations, operation))

    def then_first(self) -> Term:
        return Term((*self.path, 0)) if not self.operations else self.then(Operation("first"))


_SKIPPED = ("default", "trim", "strip")
"""Filters that do not change an existing value, apart from the space around a text."""


def normal(term: Term) -> Term:
    """The same term with each access to a part moved into its path, also inside parsed JSON.

    Two decisions that read different keys of one parsed text then have different paths, and both can be met.
    """
    path, rest = term.path, list(term.operations)
    while rest:
        first, key = rest[0], rest[0].argument(0)
        if first.name == "at" or (first.name == "get" and isinstance(key, str)):
            path = (*path, key)
        elif first.name == "first":
            path = (*path, 0)
        elif first.name == "parse_json":
            path = (*path, JSON)
        elif first.name == "list" and len(rest) > 1:
            pass
        elif first.name not in _SKIPPED or (
            first.name != "default" and all(one.name in _SKIPPED for one in rest)
        ):
            break
        rest.pop(0)
    return Term(path, tuple(rest))


def expressions(text: Any, language: str) -> Iterator[nodes.Node]:
    """The trees of every template in a value."""
    match text:
        case str():
            ast = template_of(text, language).ast
            if ast is not None:
                yield ast
        case dict():
            for inner in text.values():
                yield from expressions(inner, language)
        case list() | tuple():
            for inner in text:
                yield from expressions(inner, language)


def lone(text: Any, language: str) -> nodes.Expr | None:
    """The expression of a lone `{{ }}`."""
    if not isinstance(text, str):
        return None
    template = template_of(text, language)
    return template.expression if template.ast is not None else None


def term_of(node: nodes.Node) -> Term | None:
    """The value that an expression is computed from, if it is a single one."""
    match node:
        case nodes.Name():
            return Term((node.name,))
        case nodes.Getattr():
            return _inner(node.node, node.attr)
        case nodes.Getitem() if isinstance(node.arg, nodes.Const):
            # A generated list has one item, which stands for every index.
            key = node.arg.value
            return _inner(node.node, key if isinstance(key, str) else 0)
        case nodes.Getitem():
            return term_of(node.node)
        case nodes.Filter() if node.node is not None:
            return _applied(node.node, node.name, node)
        case nodes.Call() if isinstance(node.node, nodes.Getattr):
            return _applied(node.node.node, node.node.attr, node)
        # Either branch may be the value; the first that can be solved is enough to reach a decision.
        case nodes.CondExpr():
            return term_of(node.expr1) or (term_of(node.expr2) if node.expr2 else None)
        case nodes.Or():
            return term_of(node.left)
        case nodes.BinExpr() if node.operator in _ARITHMETIC:
            return _computed(node)
    return None


def _computed(node: nodes.BinExpr) -> Term | None:
    """A number combined with a constant by an arithmetic operator."""
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
    """The values from which the operations lead to one of the wanted values, as far as they can be inverted."""
    found = list(values)
    for operation in reversed(operations):
        # The value may be a list or a text; both have a length.
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
            # The smallest value with that part: the search merges it with the other wishes for the same
            # answer.
            return {key: value} if isinstance(key, str) else [value]
        case "map" if operation.argument(9, "attribute") is not None:
            attribute = str(operation.argument(9, "attribute"))
            return [nest(one, tuple(attribute.split("."))) for one in _listed(value)]
        case "sum":
            attribute = str(operation.argument(0, "attribute") or "")
            return [nest(value, tuple(attribute.split(".")) if attribute else ())]
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
    """An item that `selectattr` or `rejectattr` keeps."""
    base = value if isinstance(value, dict) else {}
    wanted = operation.argument(2)
    if isinstance(wanted, list) and operation.argument(1) == "in":
        wanted = wanted[0] if wanted else "x"
    if wanted is None:
        if len(operation.arguments) > 2:  # It is compared with something that is known only in a run.
            return value
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
    """Wrap a value in objects and lists so that the path leads to it."""
    for part in reversed(path):
        value = {part: value} if isinstance(part, str) else [value]
    return value


def terms_in(tree: nodes.Node) -> Iterator[Term]:
    """Every value that a template reads. A loop variable is an item of the value that the loop iterates over."""
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
    for child in node.iter_child_nodes():
        yield from _terms(child, names)


# Goals: the values that make a condition true or false.

Goal = dict[Path, list[Any]]
"""Paths such as `("state", "build", "exit_code")`, each with suitable values, the best first."""

Known = Callable[[Path], Any]
"""The known value at a path, such as the default of an input; None if it is unknown."""

_MOST = 6
_MIRRORED = {"lt": "gt", "gt": "lt", "lteq": "gteq", "gteq": "lteq", "eq": "eq", "ne": "ne"}


def solve(node: nodes.Node, want: bool, known: Known) -> list[Goal]:
    """Alternative goals that may make a condition true or false."""
    return list(islice(_solve(node, want, known), _MOST))


def _solve(node: nodes.Node, want: bool, known: Known) -> Iterator[Goal]:
    match node:
        case nodes.Not():
            yield from _solve(node.node, not want, known)
        case nodes.And() | nodes.Or():
            # By De Morgan's laws, a false `or` needs two false operands, as a true `and` needs two true ones.
            both = isinstance(node, nodes.And) == want
            left, right = solve(node.left, want, known), solve(node.right, want, known)
            if both:
                # An operand that can't be solved adds no goal: the other one may be enough.
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
    """`0 <= x < 10` as two comparisons that must both hold."""
    sides = [node.expr, *(one.expr for one in node.ops)]
    parts: list[nodes.Expr] = [
        nodes.Compare(sides[number], [operand]) for number, operand in enumerate(node.ops)
    ]
    return reduce(nodes.And, parts)


def _truthy(term: Term) -> list[Any]:
    last = term.operations[-1].name if term.operations else ""
    if last in ("length", "count"):
        return [1, 2]
    if last in ("selectattr", "rejectattr", "map", "list", "split", "splitlines", "regex_search"):
        return [["x"]]
    return [True, "x", 1, ["x"], {"x": "x"}]


def merged(one: Goal, other: Goal) -> Goal:
    """Combine two goals. If both concern the same path, values that satisfy both come first."""
    found = dict(one)
    for path, values in other.items():
        before = found.get(path)
        common = [value for value in before if value in values] if before else []
        found[path] = common or values
    return found


def _goal(term: Term, values: list[Any]) -> Goal:
    whole = normal(term)
    return {whole.path: undo(values, whole.operations)}


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
    # Neither side is known, so both get values.
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
    # The negation of `>` is `<=`, so a strict comparison that should be false allows equality.
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
        case "ok":
            yield _goal(Term((*term.path, "exit_code"), term.operations), [0 if want else 1])
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
