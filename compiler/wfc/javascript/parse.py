"""Parse one JavaScript expression, or the body of a function, with tree-sitter. Equal texts are parsed once.

The parser tolerates errors, so that an expression with a mistake still has reads. Whether the text is correct is asked
of the engine that will run it, which also names the place of the error: the two can't disagree about what compiles.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from wfc.caching import cached, cached_property
from wfc.javascript.reads import ScriptReads
from wfc.template.reads import Read, Use
from wfc_runtime.expr.errors import TemplateError
from wfc_runtime.javascript.scanner import closing_brace

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Kind = Literal["expression", "object", "body", "error"]


@cached(1)
def is_installed() -> bool:
    """Whether the packages of the extra `reactive` are installed."""
    return all(
        importlib.util.find_spec(name) for name in ("quickjs", "tree_sitter", "tree_sitter_javascript")
    )


@cached(1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_javascript

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))


class Script:
    """A JavaScript text without braces. All offsets are characters of the text."""

    def __init__(self, code: str) -> None:
        self.code = code
        # As an expression first; the newline ends a comment at the end of the text.
        self._before, tree = "(", self._parse("(", "\n)")
        self.error = _error_in(code)
        self.kind: Kind = "object" if code.lstrip().startswith("{") else "expression"
        self.value_at: int | None = None
        """The start of the last statement, if statements have its value because none of them returns one."""
        # Not an expression: the text may be the body of a function. It is one only if it has a value, since text with
        # a mistake often parses as statements too.
        if self.error is not None:
            body = self._parse("(function(){", "\n})")
            last = None if body.has_error else _last_value(body)
            if not body.has_error and (
                last or any(one.type == "return_statement" for one in descendants(body))
            ):
                self._before, tree = "(function(){", body
                self.kind, self.error = "body", None
            else:
                self.kind = "error"
            self.value_at = self.offset(last.start_byte) if last else None
        self.root: Node = tree

    def _parse(self, before: str, after: str) -> Node:
        return _parser().parse(f"{before}{self.code}{after}".encode("utf-8", "replace")).root_node

    def __repr__(self) -> str:
        return f"Script({self.code!r})"

    @property
    def expression(self) -> Node | None:
        """The node of the expression, if the text is one."""
        if self.kind not in ("expression", "object"):
            return None
        node = self.root.named_children[0].named_children if self.root.named_children else []
        inner = [one for one in node[0].named_children if one.type != "comment"] if node else []
        return inner[0] if len(inner) == 1 else None

    @cached_property
    def _characters(self) -> list[int] | None:
        """The character of each byte; None if they are the same."""
        if self.code.isascii():
            return None
        return [index for index, one in enumerate(self.code) for _ in one.encode("utf-8", "replace")]

    def offset(self, byte: int) -> int:
        at = byte - len(self._before)
        if self._characters is None:
            return min(max(at, 0), len(self.code))
        return self._characters[at] if 0 <= at < len(self._characters) else len(self.code) if at > 0 else 0

    def span(self, node: Node) -> tuple[int, int]:
        return self.offset(node.start_byte), self.offset(node.end_byte)

    def text(self, node: Node) -> str:
        start, end = self.span(node)
        return self.code[start:end]

    @cached_property
    def _found(self) -> ScriptReads:
        return ScriptReads(self)

    @property
    def reads(self) -> list[Read]:
        """All references to names that the text neither binds itself nor finds among the built-in ones."""
        return self._found.reads

    @property
    def functions(self) -> list[Use]:
        """The built-in functions that are called by name, such as `now()` and `shquote(x)`."""
        return self._found.functions

    @property
    def forbidden(self) -> list[Use]:
        """Names and properties that the sandbox does not have."""
        return self._found.forbidden

    @property
    def impure(self) -> list[Use]:
        """Uses of the clock, of ids and of chance: the value is not a function of what is read."""
        return self._found.impure

    @cached_property
    def blocks(self) -> list[Use]:
        """Bodies of arrow functions that were meant as objects: in `x => { a: x }` the braces are a block."""
        found: list[Use] = []
        for node in descendants(self.root):
            if node.type != "=>":
                continue
            start = self.offset(node.end_byte)
            meant = _OBJECT.match(self.code, start)
            if meant is not None:
                opening = meant.start(meant.lastgroup or 0)
                found.append(Use("object", opening, _closing(self.code, opening)))
        return found

    @property
    def shorthands(self) -> frozenset[int]:
        """The starts of reads that are properties in short form, as in `{x}`."""
        return frozenset(self._found.shorthands)


@cached(4096)
def parse_script(code: str) -> Script:
    """Parse a text. It raises nothing: a text that can't be parsed has an `error`."""
    return Script(code)


# A block never begins like this, unless it has a label, which no expression needs.
_OBJECT = re.compile(
    r"""\s*(?P<brace>\{)\s*(?:[\w$]+|'[^'\n]*'|"[^"\n]*"|\[[^\]\n]*\])\s*:(?!:)|\s*(?P<spread>\{)\s*\.\.\."""
)


def _closing(code: str, opening: int) -> int:
    """The offset after the brace that closes another one."""
    end = closing_brace(code, opening + 1)
    return end + 1 if end is not None else len(code)


def descendants(node: Node) -> Iterator[Node]:
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        todo += reversed(one.children)


def _last_value(body: Node) -> Node | None:
    """The last of several statements, if it is an expression and no statement returns a value."""
    if any(one.type == "return_statement" for one in descendants(body)):
        return None
    block = next((one for one in descendants(body) if one.type == "statement_block"), None)
    statements = [one for one in block.named_children if one.type != "comment"] if block else []
    is_value = len(statements) > 1 and statements[-1].type == "expression_statement"
    return statements[-1] if is_value else None


def _error_in(code: str) -> TemplateError | None:
    from wfc_runtime.javascript.engine import syntax_error

    if not code.strip():
        return TemplateError("an expression is missing between the braces", 0, len(code))
    found = syntax_error(code)
    if found is None:
        return None
    start = found.start or 0
    return TemplateError(_worded(found.message), start, max(found.end or 0, start))


def _worded(message: str) -> str:
    """The message of the engine as the rest of the compiler writes messages."""
    return message[:1].lower() + message[1:] if message[1:2].islower() else message
