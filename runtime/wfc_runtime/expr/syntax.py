"""Parses a template with Jinja's parser, and leads from any node of the tree back to the text.

Jinja's grammar is the language's grammar; the tokens, their positions and the messages are ours. `parse` raises
nothing: a template that can't be parsed comes back with its error. No Jinja environment is ever made, so nothing is
evaluated here, not even constants, and no template is compiled to Python.
"""

from __future__ import annotations

from typing import Any, NoReturn, cast

from jinja2 import TemplateSyntaxError, nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from .errors import TemplateError
from .run import DEFAULT_LIMITS, ExprLimits
from .scanner import OPERATORS, Scanner, Token
from .values import is_template

MACRO = "macro"
"""The context of a name that is called and that the text itself defines as a macro."""


class Syntax:
    """A text and its tree. `ast` and `error` are both None for a text without tags.

    The `lineno` of a node is the index of a token, or None where Jinja's parser records none.
    """

    __slots__ = ("_closers", "_partners", "_spans", "ast", "error", "lone", "text")

    def __init__(self, text: str, scanner: Scanner | None = None) -> None:
        self.text = text
        self.ast: nodes.Template | None = None
        self.error: TemplateError | None = None
        self.lone = False
        self._spans = scanner.spans if scanner else []
        self._closers = scanner.closers if scanner else {}
        self._partners: dict[int, int] = {}

    @property
    def is_literal(self) -> bool:
        """Whether it is plain text, without any tag."""
        return self.ast is None and self.error is None

    @property
    def expression(self) -> nodes.Expr:
        """The expression of a lone `{{ }}`."""
        assert self.ast is not None
        outputs = cast(nodes.Output, self.ast.body[0]).nodes
        return next(node for node in outputs if not isinstance(node, nodes.TemplateData))

    def token(self, node: nodes.Node) -> int:
        """The index of the token that names the node: its name, literal or bracket."""
        number = node.lineno or 0
        if isinstance(node, nodes.Getattr):
            return number + 1
        if isinstance(node, nodes.Test):
            return number + (2 if self.text[slice(*self._spans[number + 1])] == "not" else 1)
        if isinstance(node, nodes.Compare):
            # Jinja's parser gives a comparison the position *after* it.
            return self.token(node.expr)
        return number

    def token_span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of the token that names the node; the name of a filter or test may be several, with dots."""
        number = self.token(node)
        return self._spans[number][0], self._spans[number + _dotted(node)][1]

    def number_span(self, number: int) -> tuple[int, int]:
        """The offsets of the token with this index."""
        return self._spans[number]

    def is_bracket(self, number: int) -> bool:
        """Whether this token opens a bracket."""
        return number in self._closers

    def closer(self, number: int) -> int:
        """The index of the token that closes this bracket."""
        return self._closers[number]

    def span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of a whole expression or statement head, with the brackets that belong to it."""
        first, last = len(self._spans), -1
        todo = [node]
        while todo:
            item = todo.pop()
            if item.lineno is not None:
                number = self.token(item)
                first = min(first, number if isinstance(item, nodes.Compare) else item.lineno)
                last = max(last, number + _dotted(item))
            todo += item.iter_child_nodes()
        if last < 0:
            return 0, len(self.text)
        first, last = self._balance(first, last)
        return self._spans[first][0], self._spans[last][1]

    def _balance(self, first: int, last: int) -> tuple[int, int]:
        """Widen a range of tokens until each bracket in it has its partner."""
        if not self._partners:
            openers = {closer: opener for opener, closer in self._closers.items()}
            self._partners = self._closers | openers
        number = first
        while number <= last:
            partner = self._partners.get(number, number)
            if partner < first:
                first = number = partner
            last = max(last, partner)
            number += 1
        return first, last


def _dotted(node: nodes.Node) -> int:
    """How many tokens of its name follow the first one: no filter or test has a dot, but `a.b` can be written."""
    return 2 * node.name.count(".") if isinstance(node, (nodes.Filter, nodes.Test)) else 0


def parse(text: str, limits: ExprLimits = DEFAULT_LIMITS) -> Syntax:
    """Parse a template. Look at `error` before anything else."""
    if not is_template(text):
        return Syntax(text)
    scanner = Scanner(text, limits)
    syntax = Syntax(text, scanner)
    try:
        scanner.scan()
        tree = nodes.Template(_Parser(scanner).subparse(), lineno=0)
        if "macro" in limits.statements:
            _mark_macros(tree)
        # A tree can't be deeper than it has tokens, so that most templates need no second look.
        if len(scanner.tokens) > limits.tree:
            _check_depth(syntax, tree, limits.tree)
    except TemplateError as error:
        syntax.error = error.with_traceback(None)
    except TemplateSyntaxError as error:
        # All failures of today's parser go through `fail` or `expect`. A later Jinja may add another way.
        syntax.error = TemplateError(error.message or "this can't be read", 0, len(text))
    except RecursionError:
        # The scanner's estimate keeps the parser far from this, unless the caller's own stack is nearly full.
        syntax.error = TemplateError("nested too deeply", 0, len(text))
    else:
        syntax.ast = tree
        syntax.lone = scanner.lone
    return syntax


def _mark_macros(tree: nodes.Template) -> None:
    defined = {macro.name for macro in tree.find_all(nodes.Macro)}
    for call in tree.find_all(nodes.Call) if defined else ():
        if isinstance(call.node, nodes.Name) and call.node.name in defined:
            call.node.ctx = MACRO


def _check_depth(syntax: Syntax, tree: nodes.Template, limit: int) -> None:
    level: list[nodes.Node] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in node.iter_child_nodes()]
        if not level:
            return
    start, end = syntax.token_span(level[0])
    raise TemplateError(f"too many operations inside each other: the limit is {limit}", start, end)


# Jinja's parser over the scanner's tokens.

_CONSTANTS = frozenset({"true", "false", "True", "False", "none", "None"})
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
# Tokens that only the levels of Jinja's grammar above unary operators look for.
_COMPARISONS = frozenset({"eq", "gt", "gteq", "lt", "lteq", "ne"})
_OPERATIONS = _COMPARISONS | {"add", "div", "floordiv", "mod", "mul", "pow", "sub", "tilde"}
_OPERATING_WORDS = frozenset({"and", "if", "in", "not", "or"})


class _Tokens(TokenStream):
    """The scanner's tokens as Jinja's parser reads them, by index instead of through a generator."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._tokens = scanner.tokens
        self._number = 0
        self.name = self.filename = None
        self.current = scanner.tokens[0]

    def __bool__(self) -> bool:
        return self.current.type != "eof"

    def __next__(self) -> Token:
        token = self._tokens[self._number]
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
        if self.current.test(expr):
            self.skip()
            return True
        return False

    def expect(self, expr: str) -> Token:
        if not self.current.test(expr):
            wanted = f"`{expr[5:]}`" if expr.startswith("name:") else _WORDS.get(expr, expr)
            raise self.error(f"expected {wanted} but found {self.describe()}", self._number)
        return next(self)

    def describe(self) -> str:
        """The current token, for a message."""
        number = self._number
        if self.current.type in ("name", "integer", "float", "string"):
            start, end = self._scanner.spans[number]
            return f"`{self._scanner.text[start : min(end, start + 40)]}`"
        return _WORDS.get(self.current.type, "text")

    def error(self, message: str, number: int) -> TemplateError:
        """The error at a token, with a specific message for frequent mistakes."""
        tokens = self._tokens
        token, before = tokens[number], tokens[max(number - 1, 0)]
        first = number
        if token.type == "pipe" and before.type == "pipe":
            message, first = "`||` is not an operator here: write `or`", number - 1
        elif token.type == "assign":
            message = "`=` assigns and is not allowed here: write `==` to compare"
        elif token.type in ("variable_end", "block_end") and before.type.endswith("_begin"):
            message, first = "there is nothing between the braces", number - 1
        return TemplateError(message, self._scanner.spans[first][0], self._scanner.spans[number][1])


class _Parser(Parser):
    """Jinja's parser over our tokens, without the few forms that the language does not have.

    Most templates are names, attributes and filters. Those get the tree that Jinja makes in fewer calls.
    """

    stream: _Tokens

    def __init__(self, scanner: Scanner) -> None:
        # The constructor of Jinja's parser would call Jinja's lexer, which needs an environment.
        self.stream = _Tokens(scanner)
        self.name = self.filename = None
        self.extensions = {}
        self._last_identifier = 0
        self._tag_stack: list[str] = []
        self._end_token_stack: list[tuple[str, ...]] = []
        kinds = {token.type for token in scanner.tokens}
        words = {token.value for token in scanner.tokens if token.type == "name"}
        self._has_operations = not (_OPERATIONS.isdisjoint(kinds) and _OPERATING_WORDS.isdisjoint(words))

    def fail(self, msg: str, lineno: int | None = None, exc: Any = None) -> NoReturn:
        number = self.stream.current.lineno if lineno is None else lineno
        if msg.startswith(("unexpected ", "Expected an expression")):
            msg = f"expected a value but found {self.stream.describe()}"
        elif msg == "expected name or number":
            msg = "expected a name after the dot"
        raise self.stream.error(msg[0].lower() + msg[1:].rstrip("."), number)

    def parse_expression(self, with_condexpr: bool = True) -> nodes.Expr:
        return super().parse_expression(with_condexpr) if self._has_operations else self.parse_unary()

    def parse_primary(self, with_namespace: bool = False) -> nodes.Expr:
        token = self.stream.current
        if token.type != "name" or with_namespace or token.value in _CONSTANTS:
            return super().parse_primary(with_namespace)
        self.stream.skip()
        # Jinja's constructor takes longer than all the rest of parsing a name.
        name = object.__new__(nodes.Name)
        name.name, name.ctx = token.value, "load"
        name.lineno, name.environment = token.lineno, None
        return name

    def parse_for(self) -> nodes.For:
        number = self.stream.current.lineno
        node = super().parse_for()
        if node.recursive:
            self.fail("a recursive loop is not part of this language", number)
        if any(name.name == "loop" for name in _targets(node.target)):
            self.fail("`loop` is the loop's own variable: choose another name", node.target.lineno)
        return node

    def parse_subscript(self, node: nodes.Expr) -> nodes.Getattr | nodes.Getitem:
        dot, name = self.stream.current, self.stream.look()
        if dot.type == "dot" and name.type == "name" and name.value[0] != "_":
            self.stream.skip(2)
            attribute = object.__new__(nodes.Getattr)
            attribute.node, attribute.attr, attribute.ctx = node, name.value, "load"
            attribute.lineno, attribute.environment = dot.lineno, None
            return attribute
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
        number = self.stream.current.lineno
        found = super().parse_call_args()
        if found[2] is not None or found[3] is not None:
            self.fail("`*` and `**` arguments are not part of this language", number)
        return found


def _targets(node: nodes.Node) -> list[nodes.Name]:
    """The names that a loop or an assignment binds."""
    if isinstance(node, nodes.Name):
        return [node]
    return [name for item in node.iter_child_nodes() for name in _targets(item)]
