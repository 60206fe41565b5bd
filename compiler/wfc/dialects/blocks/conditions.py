"""References and conditions: parsed from text and translated to expressions of the core, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wfc.dialects.base import Piece
from wfc.dialects.blocks.expressions import (
    METHODS,
    Expr,
    all_reads,
    asked,
    combination,
    comparison,
    literal,
    negation,
)
from wfc.struct import struct

# References in a text: `${inputs.name}`, `${blocks.build.outputs.path}`, `${metadata.start_time}`.

REFERENCE = re.compile(r"\$\{\s*([a-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*)\s*\}")
"""A reference. `${HOME}`, `${x:-1}` and the like don't match: they belong to the shell."""


@struct(frozen=True)
class Part:
    name: str
    start: int
    end: int


@struct(frozen=True)
class Reference:
    """A path in a text, with the offsets of its parts."""

    parts: tuple[Part, ...]
    start: int
    end: int

    @classmethod
    def of(cls, found: re.Match[str], offset: int = 0) -> Reference:
        at = found.start(1) + offset
        parts: list[Part] = []
        for name in found[1].split("."):
            parts.append(Part(name, at, at + len(name)))
            at += len(name) + 1
        return cls(tuple(parts), found.start() + offset, found.end() + offset)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def path(self) -> str:
        return ".".join(self.names)


Resolve = Callable[[Reference], Expr]


# The grammar of conditions: comparisons of references and literals, joined by `and`, `or` and `not`.

_DEEPEST = 30
# One pattern for all tokens. The order matters: a reference before its `${`, a path before a plain word.
_TOKEN = re.compile(
    rf"(?P<space>\s+)|(?P<reference>{REFERENCE.pattern})|(?P<number>-?\d+(?:\.\d+)?(?![\w.]))"
    r"|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<operator>==|!=|<=|>=|<|>|\$\{|[()\[\],}])|(?P<method>\.[a-z]+(?=\())"
    r"|(?P<path>(?:inputs|blocks|metadata|each)(?:\.\w+(?!\w*\())+(?![\w\[]))|(?P<word>[A-Za-z_]\w*)|(?P<other>.)",
    re.S,
)
_BRACES = re.compile(r"\{\{-?(.*?)-?\}\}", re.S)
_ESCAPE = re.compile(r"\\(.)", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Any] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "none": None,
    "None": None,
    "null": None,
}
_CLOSING = {"(": ")", "[": "]", "${": "}"}
_COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_TWO_WORDS = {("not", "in"): "not in", ("is", "not"): "is not"}


class ConditionError(Exception):
    """Why a text is not a condition, and where."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


@struct(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@struct(frozen=True)
class ConditionNode:
    """A part of a condition: a leaf with a reference or a value, or an operator with its operands."""

    word: str
    start: int
    end: int
    operands: tuple[ConditionNode, ...] = ()
    reference: Reference | None = None
    value: Any = None
    words: tuple[Token, ...] = ()
    """The operators of a comparison, which may be chained, or the name of a method."""


Range = tuple[int, int]


def read_condition(text: str, holes: Sequence[Range] = (), *, in_braces: bool = False) -> ConditionNode:
    """Parse a condition. Raises `ConditionError` with the position of the first mistake.

    `holes` are the expressions in double braces. One that has the form of a condition is parsed as such, since more can
    be checked in it; any other, such as one with a filter, is a leaf. `in_braces`: whether the file has that notation.
    """
    return _Parser(text, list(condition_tokens(text, holes)), in_braces=in_braces).whole()


def condition_tokens(text: str, holes: Sequence[Range] = ()) -> Iterator[Token]:
    """The tokens of a condition, without white space."""
    at = 0
    for start, end in [*holes, (len(text), len(text))]:
        # Quotes around a reference have no effect in this language.
        is_quoted = text[start - 1 : start] in ("'", '"') and text[end : end + 1] == text[start - 1 : start]
        yield from _plain_tokens(text, at, start - is_quoted)
        at = end + is_quoted
        if start < end:
            yield Token("hole", text[start:end], start, end)


def _plain_tokens(text: str, start: int, end: int) -> Iterator[Token]:
    for found in _TOKEN.finditer(text, start, end):
        if found.lastgroup != "space":
            yield Token(str(found.lastgroup), found[0], found.start(), found.end())


class _Parser:
    def __init__(
        self, text: str, tokens: list[Token], inside: int = 0, depth: int = 0, in_braces: bool = False
    ) -> None:
        self._in_braces = in_braces
        self._text = text
        self._tokens = tokens
        self._at = 0
        self._depth = depth
        self._inside = inside

    def whole(self) -> ConditionNode:
        if not self._tokens:
            raise ConditionError("an empty condition", 0, len(self._text))
        found = self._or()
        if self._at < len(self._tokens):
            raise self._unexpected()
        return found

    def _or(self) -> ConditionNode:
        return self._joined("or", self._and)

    def _and(self) -> ConditionNode:
        return self._joined("and", self._not)

    def _joined(self, word: str, inner: Any) -> ConditionNode:
        parts = [inner()]
        while self._take("word", word):
            parts.append(inner())
        return (
            parts[0] if len(parts) == 1 else ConditionNode(word, parts[0].start, parts[-1].end, tuple(parts))
        )

    def _not(self) -> ConditionNode:
        token = self._take("word", "not")
        if token is None:
            return self._comparison()
        with_it = self._deeper(self._not)
        return ConditionNode("not", token.start, with_it.end, (with_it,))

    def _comparison(self) -> ConditionNode:
        parts = [self._operand()]
        words: list[Token] = []
        while (word := self._comparing()) is not None:
            words.append(word)
            parts.append(self._operand())
        if not words:
            return parts[0]
        return ConditionNode("compare", parts[0].start, parts[-1].end, tuple(parts), words=tuple(words))

    def _comparing(self) -> Token | None:
        for text in _COMPARISONS:
            found = self._take("operator", text)
            if found:
                return found
        start = self._peek()
        following = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else None
        # Before `in` and `is` alone, which would leave the `not` behind.
        both = _TWO_WORDS.get((start.text, following.text)) if start and following else None
        if start and following and both:
            self._at += 2
            return Token("word", both, start.start, following.end)
        return self._take("word", "in") or self._take("word", "is")

    def _operand(self) -> ConditionNode:
        """A value with method calls: `'Yes'.lower()`."""
        found = self._value()
        while (token := self._peek()) is not None and token.kind == "method":
            if token.text[1:] not in METHODS:
                raise ConditionError(
                    f"texts have no method `{token.text[1:]}` here", token.start + 1, token.end
                )
            self._at += 2
            arguments = self._items(")")
            end = self._tokens[self._at - 1].end
            found = ConditionNode("method", found.start, end, (found, *arguments), words=(token,))
        return found

    def _value(self) -> ConditionNode:
        token = self._peek()
        if token is None:
            end = len(self._text.rstrip())
            raise ConditionError("the condition ends where a value is expected", max(end - 1, 0), end)
        self._at += 1
        match token.kind:
            case "reference":
                return _reference(token)
            case "hole":
                return self._hole(token)
            case "number":
                value = float(token.text) if "." in token.text else int(token.text)
                return ConditionNode("value", token.start, token.end, value=value)
            case "text":
                return _text(token)
            case "word" if token.text in _WORDS:
                return ConditionNode("value", token.start, token.end, value=_WORDS[token.text])
            case "path" if self._inside:
                return _path(token)
            case "operator" if token.text in _CLOSING:
                return self._deeper(lambda: self._bracket(token))
        # The error must point at this token, not at the next one.
        self._at -= 1
        raise self._unexpected()

    def _hole(self, token: Token) -> ConditionNode:
        inner = _BRACES.fullmatch(token.text)
        assert inner is not None
        tokens = list(_plain_tokens(self._text, token.start + inner.start(1), token.start + inner.end(1)))
        try:
            return _Parser(self._text, tokens, inside=1, depth=self._depth + 1).whole()
        # An expression with a filter is valid Jinja, although it is not a condition of this grammar.
        except ConditionError:
            return ConditionNode("hole", token.start, token.end)

    def _bracket(self, opening: Token) -> ConditionNode:
        """The contents of brackets. Inside `${ }` a path needs no `${ }` of its own."""
        closing = _CLOSING[opening.text]
        self._inside += opening.text == "${"
        items = self._items(closing)
        self._inside -= opening.text == "${"
        # `(x)` is x, and `(x,)` is a list, as in Python.
        is_one = len(items) == 1 and self._tokens[self._at - 2].text != ","
        if opening.text != "[" and is_one:
            return items[0]
        return ConditionNode("list", opening.start, self._tokens[self._at - 1].end, tuple(items))

    def _items(self, closing: str) -> list[ConditionNode]:
        """Values separated by commas, up to the closing bracket."""
        items: list[ConditionNode] = []
        while self._take("operator", closing) is None:
            items.append(self._or())
            if not self._take("operator", ",") and not self._is_next("operator", closing):
                raise self._unexpected()
        return items

    def _deeper(self, inner: Any) -> ConditionNode:
        self._depth += 1
        # A hostile file must not exhaust Python's stack.
        if self._depth > _DEEPEST:
            token = self._peek() or self._tokens[-1]
            raise ConditionError(f"nested more than {_DEEPEST} deep", token.start, token.end)
        found: ConditionNode = inner()
        self._depth -= 1
        return found

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is_next(self, kind: str, text: str) -> bool:
        token = self._peek()
        return token is not None and token.kind == kind and token.text == text

    def _take(self, kind: str, text: str) -> Token | None:
        if not self._is_next(kind, text):
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def _unexpected(self) -> ConditionError:
        token = self._peek()
        if token is None:
            end = len(self._text.rstrip())
            return ConditionError("the condition ends too early", max(end - 1, 0), end)
        if self._text.startswith("{{", token.start):
            # The usual mistake of authors who know the other notation.
            message = "a condition is written without `{{ }}`: write `${inputs.name} == 'value'`"
            if self._in_braces:
                message = "these braces name nothing that a condition can read, such as `inputs.name`"
            return ConditionError(message, token.start, token.start + 2)
        if self._in_braces and self._text.startswith("{%", token.start):
            message = "a condition has no statements: write an expression, such as `{{ a if b else c }}`"
            return ConditionError(message, token.start, token.start + 2)
        if token.kind in ("word", "path"):
            written = "{{...}}" if self._in_braces else "${...}"
            message = f"`{token.text}` is neither a reference (`{written}`) nor a quoted text"
        else:
            message = f"unexpected `{token.text[:20]}`"
        return ConditionError(message, token.start, token.end)


def _path(token: Token) -> ConditionNode:
    found = REFERENCE.fullmatch(f"${{{token.text}}}")
    assert found is not None
    return ConditionNode("reference", token.start, token.end, reference=Reference.of(found, token.start - 2))


def _reference(token: Token) -> ConditionNode:
    found = REFERENCE.fullmatch(token.text)
    assert found is not None
    return ConditionNode("reference", token.start, token.end, reference=Reference.of(found, token.start))


def _text(token: Token) -> ConditionNode:
    inner = token.text[1:-1]
    found = REFERENCE.fullmatch(inner)
    if found is not None:  # Quotes around a reference have no effect in this language.
        return ConditionNode(
            "reference", token.start, token.end, reference=Reference.of(found, token.start + 1)
        )
    value = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), inner)
    return ConditionNode("value", token.start, token.end, value=value)


# Translation to expressions of the core.

_ENDS = ("succeeded", "failed", "skipped")


def conjuncts(node: ConditionNode) -> Iterator[ConditionNode]:
    """The operands of the top-level `and`."""
    if node.word == "and":
        for operand in node.operands:
            yield from conjuncts(operand)
    else:
        yield node


def references(node: ConditionNode) -> Iterator[Reference]:
    if node.reference is not None:
        yield node.reference
    for operand in node.operands:
        yield from references(operand)


def contradicts_itself(node: ConditionNode) -> bool:
    """Whether the condition requires two values of one reference, or two states of one block."""
    values: dict[str, Any] = {}
    for part in conjuncts(node):
        for path, value in _demands(part):
            if values.setdefault(path, value) != value:
                return True
    return False


def _demands(part: ConditionNode) -> Iterator[tuple[str, Any]]:
    """The values that one part requires of references."""
    is_not = part.word == "not"
    inner = part.operands[0] if is_not else part
    if inner.reference is not None:
        yield inner.reference.path, not is_not
        *block, state = inner.reference.names
        if state in _ENDS and len(block) == 2 and not is_not:
            yield f"{'.'.join(block)}.", state
    elif part.word == "compare" and [word.text for word in part.words] == ["=="]:
        paths = [one.reference.path for one in part.operands if one.reference is not None]
        values = [one.value for one in part.operands if one.word == "value"]
        # The texts `true` and `false` equal booleans here, so they contradict nothing.
        if paths and values and str(values[0]).lower() not in ("true", "false"):
            yield paths[0], values[0]


Fill = Callable[[ConditionNode], Expr]
"""The expression for a leaf in double braces."""
Ask = Callable[[ConditionNode, Expr, bool], None]
"""Called for each operand that is used as a boolean; the last argument says whether it is the condition's result."""


def to_expression(
    node: ConditionNode, resolve: Resolve, fill: Fill, ask: Ask | None = None, is_last: bool = True
) -> Expr:
    """Translate a condition to an expression of the core."""
    joined = node.word in ("and", "or")
    parts = [
        to_expression(one, resolve, fill, ask if joined else None, is_last and one is node.operands[-1])
        for one in node.operands
    ]
    found = fill(node) if node.word == "hole" else _joined(node, parts, resolve)
    if ask is not None and not joined:
        ask(node, found, is_last)
    return found


def _joined(node: ConditionNode, parts: list[Expr], resolve: Resolve) -> Expr:
    match node.word:
        case "reference":
            assert node.reference is not None
            return resolve(node.reference)
        case "value":
            return literal(node.value, node.start, node.end)
        case "list":
            return _list(node, parts)
        case "method":
            return asked(parts[0], node.words[0].text[1:], parts[1:], node.words[0].start, node.end)
        case "not":
            return negation(parts[0], node.start)
        case "and" | "or":
            return combination(node.word, parts)
    links = [
        comparison(parts[number], word.text, parts[number + 1], word.start, word.end)
        for number, word in enumerate(node.words)
    ]
    return combination("and", links) if len(links) > 1 else links[0]


def _list(node: ConditionNode, items: list[Expr]) -> Expr:
    pieces: list[Piece] = [Piece("[", node.start, node.start + 1)]
    for number, item in enumerate(items):
        pieces += [Piece(", ", item.start, item.start)] if number else []
        pieces += item.pieces
    pieces.append(Piece("]", node.end - 1, node.end))
    if all(item.is_constant for item in items):
        return Expr(tuple(pieces), "list", constant=[item.constant for item in items])
    return Expr(tuple(pieces), "list", reads=all_reads(items))
