"""From text to Jinja's tree, and from any node of the tree back to the text.

`parse` raises nothing: a text that can't be read comes back with its error. Nothing is evaluated here, not
even constants.
"""

from __future__ import annotations

from typing import Any, NoReturn, cast

from jinja2 import nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from .environment import environment
from .errors import TemplateError
from .limits import DEFAULT_LIMITS, ExprLimits
from .scanner import Scanner
from .tokens import OPERATORS, Token

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


class Syntax:
    """A text and its tree. `ast` and `error` are both None for a text without holes."""

    __slots__ = ("_closers", "_ends", "_starts", "_tokens", "ast", "error", "lone", "text")

    def __init__(self, text: str, scanner: Scanner | None = None) -> None:
        self.text = text
        self.ast: nodes.Template | None = None
        self.error: TemplateError | None = None
        self.lone = False
        self._tokens = scanner.tokens if scanner else []
        self._starts = scanner.starts if scanner else []
        self._ends = scanner.ends if scanner else []
        self._closers = scanner.closers if scanner else {}

    @property
    def is_literal(self) -> bool:
        """Is it plain text, with no holes at all?"""
        return self.ast is None and self.error is None

    @property
    def expression(self) -> nodes.Expr:
        """What stands in a lone `{{ }}`."""
        assert self.ast is not None
        outputs = cast(nodes.Output, self.ast.body[0]).nodes
        return next(node for node in outputs if not isinstance(node, nodes.TemplateData))

    def token(self, node: nodes.Node) -> int:
        """The number of the token that names the node: its name, literal or bracket."""
        number = node.lineno or 0
        if isinstance(node, nodes.Getattr):
            return number + 1
        if isinstance(node, nodes.Test):
            return number + (2 if self._tokens[number + 1].key == "name:not" else 1)
        return number

    def token_span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of the token that names the node."""
        return self.number_span(self.token(node))

    def number_span(self, number: int) -> tuple[int, int]:
        """The offsets of the token with this number."""
        return self._starts[number], self._ends[number]

    def is_bracket(self, number: int) -> bool:
        """Does this token open a bracket?"""
        return number in self._closers

    def closer(self, number: int) -> int:
        """The number of the token that closes this bracket."""
        return self._closers[number]

    def span(self, node: nodes.Node) -> tuple[int, int]:
        """The offsets of a whole expression or statement head, with the brackets that belong to it."""
        first, last = len(self._tokens), -1
        todo = [node]
        while todo:
            item = todo.pop()
            # Jinja gives a comparison the place *after* it; its operands tell where it is.
            if item.lineno is not None and not isinstance(item, nodes.Compare):
                first = min(first, item.lineno)
                last = max(last, self.token(item))
            todo.extend(item.iter_child_nodes())
        if last < 0:
            return 0, len(self.text)
        first, last = self._balance(first, last)
        return self._starts[first], self._ends[last]

    def _balance(self, first: int, last: int) -> tuple[int, int]:
        """Widen a range of tokens until each bracket in it has its partner."""
        partners = self._closers | {closer: opener for opener, closer in self._closers.items()}
        number = first
        while number <= last:
            partner = partners.get(number, number)
            if partner < first:
                first = number = partner
            last = max(last, partner)
            number += 1
        return first, last


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
        for _ in range(n):
            next(self)

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


class _Parser(Parser):
    """Jinja's parser over our tokens, without the few forms that the language leaves out."""

    def __init__(self, scanner: Scanner) -> None:
        self.environment = environment()
        self.tokens = _Stream(scanner)
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

    def parse_for(self) -> nodes.For:
        number = self.tokens.current.lineno
        node = super().parse_for()
        if node.recursive:
            self.fail("a recursive loop is not part of this language", number)
        if any(name.name == "loop" for name in _targets(node.target)):
            self.fail("`loop` is the loop's own variable: choose another name", node.target.lineno)
        return node

    def parse_subscript(self, node: nodes.Expr) -> nodes.Getattr | nodes.Getitem:
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


def is_template(text: str) -> bool:
    """Could the text have holes? If not, it stands for itself."""
    return "{" in text and ("{{" in text or "{%" in text or "{#" in text)


def parse(text: str, limits: ExprLimits = DEFAULT_LIMITS) -> Syntax:
    """Read a template. Look at `error` before anything else."""
    if not is_template(text):
        return Syntax(text)
    scanner = Scanner(text, limits)
    syntax = Syntax(text, scanner)
    try:
        scanner.scan()
        tree = nodes.Template(_Parser(scanner).subparse(), lineno=0)
        # A tree can't be deeper than it has tokens, so that most templates need no second look.
        if len(scanner.tokens) > limits.tree:
            _check_depth(syntax, tree, limits.tree)
    except TemplateError as error:
        syntax.error = error.with_traceback(None)
    except RecursionError:
        # The scanner's estimate keeps the parser far from this, unless the caller's own stack is nearly full.
        syntax.error = TemplateError("nested too deeply", 0, len(text))
    else:
        syntax.ast = tree
        syntax.lone = scanner.lone
    return syntax


def _check_depth(syntax: Syntax, tree: nodes.Template, limit: int) -> None:
    level: list[nodes.Node] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in node.iter_child_nodes()]
        if not level:
            return
    start, end = syntax.token_span(level[0])
    raise TemplateError(f"too many operations inside each other: the limit is {limit}", start, end)
