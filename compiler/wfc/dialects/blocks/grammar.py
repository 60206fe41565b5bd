"""The language of conditions: comparisons of references and literals, joined by `and`, `or` and `not`."""

from __future__ import annotations

import re
from typing import Any

from wfc.dialects.blocks.expressions import METHODS
from wfc.dialects.blocks.references import REFERENCE, Reference
from wfc.struct import struct

_DEEPEST = 30
_TOKEN = re.compile(
    rf"(?P<space>\s+)|(?P<reference>{REFERENCE.pattern})|(?P<number>-?\d+(?:\.\d+)?(?![\w.]))"
    r"|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<operator>==|!=|<=|>=|<|>|\$\{|[()\[\],}])|(?P<method>\.[a-z]+(?=\())"
    r"|(?P<path>(?:inputs|blocks|metadata)(?:\.\w+(?!\w*\())+)|(?P<word>[A-Za-z_]\w*)|(?P<other>.)",
    re.S,
)
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
    """Why a text is no condition, and where."""

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
class Node:
    """A part of a condition: a leaf with a reference or a value, or an operator with its operands."""

    word: str
    start: int
    end: int
    operands: tuple[Node, ...] = ()
    reference: Reference | None = None
    value: Any = None
    words: tuple[Token, ...] = ()
    """The operators of a comparison, which may be a chain; or the name of a method."""


def read_condition(text: str) -> Node:
    """Read a condition. Raises ConditionError with the place where it is none."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [
            Token(str(found.lastgroup), found[0], found.start(), found.end())
            for found in _TOKEN.finditer(text)
            if found.lastgroup != "space"
        ]
        self._at = 0
        self._depth = 0
        self._inside = 0

    def whole(self) -> Node:
        if not self._tokens:
            raise ConditionError("an empty condition", 0, len(self._text))
        found = self._or()
        if self._at < len(self._tokens):
            raise self._unexpected()
        return found

    def _or(self) -> Node:
        return self._joined("or", self._and)

    def _and(self) -> Node:
        return self._joined("and", self._not)

    def _joined(self, word: str, inner: Any) -> Node:
        parts = [inner()]
        while self._take("word", word):
            parts.append(inner())
        return parts[0] if len(parts) == 1 else Node(word, parts[0].start, parts[-1].end, tuple(parts))

    def _not(self) -> Node:
        token = self._take("word", "not")
        if token is None:
            return self._comparison()
        with_it = self._deeper(self._not)
        return Node("not", token.start, with_it.end, (with_it,))

    def _comparison(self) -> Node:
        parts = [self._operand()]
        words: list[Token] = []
        while (word := self._comparing()) is not None:
            words.append(word)
            parts.append(self._operand())
        if not words:
            return parts[0]
        return Node("compare", parts[0].start, parts[-1].end, tuple(parts), words=tuple(words))

    def _comparing(self) -> Token | None:
        for text in _COMPARISONS:
            found = self._take("operator", text)
            if found:
                return found
        start = self._peek()
        following = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else None
        both = _TWO_WORDS.get((start.text, following.text)) if start and following else None
        if start and following and both:
            self._at += 2
            return Token("word", both, start.start, following.end)
        return self._take("word", "in") or self._take("word", "is")

    def _operand(self) -> Node:
        """A value, and what it is asked: `'Yes'.lower()`."""
        found = self._value()
        while (token := self._peek()) is not None and token.kind == "method":
            if token.text[1:] not in METHODS:
                raise ConditionError(f"texts have no `{token.text[1:]}` here", token.start + 1, token.end)
            self._at += 2
            arguments = self._items(")")
            end = self._tokens[self._at - 1].end
            found = Node("method", found.start, end, (found, *arguments), words=(token,))
        return found

    def _value(self) -> Node:
        token = self._peek()
        if token is None:
            end = len(self._text.rstrip())
            raise ConditionError("the condition ends where a value should stand", max(end - 1, 0), end)
        self._at += 1
        match token.kind:
            case "reference":
                return _reference(token)
            case "number":
                value = float(token.text) if "." in token.text else int(token.text)
                return Node("value", token.start, token.end, value=value)
            case "text":
                return _text(token)
            case "word" if token.text in _WORDS:
                return Node("value", token.start, token.end, value=_WORDS[token.text])
            case "path" if self._inside:
                return _path(token)
            case "operator" if token.text in _CLOSING:
                return self._deeper(lambda: self._bracket(token))
        self._at -= 1
        raise self._unexpected()

    def _bracket(self, opening: Token) -> Node:
        """What stands in brackets. Within `${ }` paths need no `${ }` of their own."""
        closing = _CLOSING[opening.text]
        self._inside += opening.text == "${"
        items = self._items(closing)
        self._inside -= opening.text == "${"
        is_one = len(items) == 1 and self._tokens[self._at - 2].text != ","
        if opening.text != "[" and is_one:
            return items[0]
        return Node("list", opening.start, self._tokens[self._at - 1].end, tuple(items))

    def _items(self, closing: str) -> list[Node]:
        """Values with commas between them, up to a bracket."""
        items: list[Node] = []
        while self._take("operator", closing) is None:
            items.append(self._or())
            if not self._take("operator", ",") and not self._is_next("operator", closing):
                raise self._unexpected()
        return items

    def _deeper(self, inner: Any) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            token = self._peek() or self._tokens[-1]
            raise ConditionError(f"nested more than {_DEEPEST} deep", token.start, token.end)
        found: Node = inner()
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
            message = "a condition has no `{{ }}` around it: write `${inputs.name} == 'value'`"
            return ConditionError(message, token.start, token.start + 2)
        if token.kind in ("word", "path"):
            message = f"`{token.text}` is no reference, which would be `${{...}}`, and no quoted text"
        else:
            message = f"`{token.text[:20]}` has no place here"
        return ConditionError(message, token.start, token.end)


def _path(token: Token) -> Node:
    found = REFERENCE.fullmatch(f"${{{token.text}}}")
    assert found is not None
    return Node("reference", token.start, token.end, reference=Reference.of(found, token.start - 2))


def _reference(token: Token) -> Node:
    found = REFERENCE.fullmatch(token.text)
    assert found is not None
    return Node("reference", token.start, token.end, reference=Reference.of(found, token.start))


def _text(token: Token) -> Node:
    inner = token.text[1:-1]
    found = REFERENCE.fullmatch(inner)
    if found is not None:  # Quotes around a reference change nothing.
        return Node("reference", token.start, token.end, reference=Reference.of(found, token.start + 1))
    value = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), inner)
    return Node("value", token.start, token.end, value=value)
