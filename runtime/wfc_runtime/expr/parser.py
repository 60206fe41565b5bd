"""Jinja's parser, fed with our tokens: its grammar is the language's grammar, the messages are our own."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar, cast

from jinja2 import nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from .environment import environment
from .errors import TemplateError
from .plain import CONSTANTS
from .scanner import Scanner
from .tokens import OPERATORS, Token

N = TypeVar("N", bound=nodes.Node)

_SIGNS = {name: f"`{sign}`" for sign, name in OPERATORS.items()}
_WORDS = _SIGNS | {
    "name": "a name",
    "integer": "a number",
    "float": "a number",
    "string": "a string",
    "variable_end": "`}}`",
    "block_end": "`%}`",
    "eof": "the end of the text",
}


class _Stream:
    """Jinja's TokenStream over a list: no generator, no string splitting in every test."""

    name = filename = None

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._tokens = scanner.tokens
        self._number = 0
        self.current = scanner.tokens[0]

    def __bool__(self) -> bool:
        return self.current.type != "eof"

    def __next__(self) -> Token:
        token = self.current
        if token.type != "eof":
            self._number += 1
            self.current = self._tokens[self._number]
        return token

    def look(self) -> Token:
        return self._tokens[min(self._number + 1, len(self._tokens) - 1)]

    def skip(self, n: int = 1) -> None:
        self._number = min(self._number + n, len(self._tokens) - 1)
        self.current = self._tokens[self._number]

    def skip_if(self, expr: str) -> bool:
        token = self.current
        if expr == token.key or expr == token.type:
            next(self)
            return True
        return False

    def expect(self, expr: str) -> Token:
        if not self.current.test(expr):
            wanted = f"`{expr[5:]}`" if expr.startswith("name:") else _WORDS.get(expr, expr)
            raise self.error(
                f"expected {wanted} but found {self.describe(self.current)}", self.current.lineno
            )
        return next(self)

    def describe(self, token: Token) -> str:
        if token.type in ("name", "integer", "float", "string"):
            start, end = self._scanner.starts[token.lineno], self._scanner.ends[token.lineno]
            return f"`{self._scanner.text[start : min(end, start + 40)]}`"
        return _WORDS.get(token.type, "text")

    def error(self, message: str, number: int) -> TemplateError:
        tokens = self._tokens
        token, before = tokens[number], tokens[max(number - 1, 0)]
        first = number
        if token.type == "pipe" and before.type == "pipe":
            message, first = "`||` is not an operator here: write `or`", number - 1
        elif token.type == "assign":
            message = "`=` assigns, and can't stand here: write `==` to compare"
        elif token.type in ("variable_end", "block_end") and before.type.endswith("_begin"):
            message, first = "there is nothing between the braces", number - 1
        return TemplateError(message, self._scanner.starts[first], self._scanner.ends[number])


_OPERATIONS = frozenset(
    {
        *(f"name:{word}" for word in ("and", "if", "in", "not", "or")),
        *(
            "add",
            "div",
            "eq",
            "floordiv",
            "gt",
            "gteq",
            "lt",
            "lteq",
            "mod",
            "mul",
            "ne",
            "pow",
            "sub",
            "tilde",
        ),
    }
)


def new_node(kind: type[N], number: int | None, **fields: Any) -> N:
    """A node, without Jinja's look at whether the fields are those that it has."""
    made = kind.__new__(kind)
    made.__dict__.update(fields, lineno=number, environment=None)
    return made


class TreeParser(Parser):
    """Jinja's parser over our tokens, without the few forms that the language leaves out.

    Nearly all templates are names, attributes and filters. Those come to the tree that Jinja makes by a shorter way.
    """

    def __init__(self, scanner: Scanner) -> None:
        self.environment = environment()
        self.tokens = _Stream(scanner)
        self._has_operations = not _OPERATIONS.isdisjoint([token.key for token in scanner.tokens])
        self.stream = cast(TokenStream, self.tokens)
        self.name = self.filename = None
        self.extensions = {}
        self._last_identifier = 0
        self._tag_stack: list[str] = []
        self._end_token_stack: list[tuple[str, ...]] = []

    def fail(self, msg: str, lineno: int | None = None, exc: Any = None) -> NoReturn:
        number = self.tokens.current.lineno if lineno is None else lineno
        token = self.tokens.current
        if msg.startswith(("unexpected ", "Expected an expression")):
            msg = f"expected a value but found {self.tokens.describe(token)}"
        elif msg == "expected name or number":
            msg = "expected a name after the dot"
        raise self.tokens.error(msg[0].lower() + msg[1:].rstrip("."), number)

    def parse_expression(self, with_condexpr: bool = True) -> nodes.Expr:
        return super().parse_expression(with_condexpr) if self._has_operations else self.parse_unary()

    def parse_primary(self, with_namespace: bool = False) -> nodes.Expr:
        token = self.tokens.current
        if token.type != "name" or with_namespace or token.value in CONSTANTS:
            return super().parse_primary(with_namespace)
        next(self.tokens)
        return new_node(nodes.Name, token.lineno, name=token.value, ctx="load")

    def parse_for(self) -> nodes.For:
        number = self.tokens.current.lineno
        node = super().parse_for()
        if node.recursive:
            self.fail("a recursive loop is not part of this language", number)
        if any(name.name == "loop" for name in _targets(node.target)):
            self.fail("`loop` is the loop's own variable: choose another name", node.target.lineno)
        return node

    def parse_subscript(self, node: nodes.Expr) -> nodes.Getattr | nodes.Getitem:
        dot, name = self.tokens.current, self.tokens.look()
        if dot.type == "dot" and name.type == "name" and name.value[0] != "_":
            self.tokens.skip(2)
            return new_node(nodes.Getattr, dot.lineno, node=node, attr=name.value, ctx="load")
        found = super().parse_subscript(node)
        if isinstance(found, nodes.Getattr):
            if found.attr.startswith("_"):
                message = (
                    f"`{found.attr}` begins with an underscore: no attribute does; write ['{found.attr}']"
                )
                self.fail(message, found.lineno + 1)
        elif isinstance(found.arg, nodes.Tuple):
            self.fail("expected one index between the brackets", found.lineno)
        return found

    def parse_call(self, node: nodes.Expr) -> nodes.Call:
        if not isinstance(node, (nodes.Name, nodes.Getattr)):
            self.fail("only functions and methods can be called")
        return super().parse_call(node)

    def parse_call_args(self) -> Any:
        number = self.tokens.current.lineno
        found = super().parse_call_args()
        if found[2] is not None or found[3] is not None:
            self.fail("`*` and `**` arguments are not part of this language", number)
        return found


def _targets(node: nodes.Node) -> list[nodes.Name]:
    """The names that a loop or an assignment binds."""
    if isinstance(node, nodes.Name):
        return [node]
    return [name for item in node.iter_child_nodes() for name in _targets(item)]
