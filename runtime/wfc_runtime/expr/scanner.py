"""Splits a template into tokens with exact offsets, and rejects what Jinja's parser can't handle well.

Jinja's lexer records line numbers only. Here every token knows its offsets, and its index in the stream takes the
place of the line number in Jinja's tree, so that each node leads back to the characters it was parsed from.

Brackets, statements and nesting are checked here, before Jinja's recursive parser sees a token. So messages can
point at the bracket that was left open, and no text can exhaust the stack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from jinja2 import lexer

from .errors import TemplateError, shorten
from .run import TEXT_STATEMENTS, ExprLimits

# Templates load nothing and call no blocks, so that these statements of Jinja are refused under their own name.
_JINJA_STATEMENTS = TEXT_STATEMENTS | {"autoescape", "call", "extends", "from", "import", "include", "print"}

# The forms of jinja2.lexer in one pattern: a token takes one match instead of up to seven.
_FLOAT = r"(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+\-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)"
_INTEGER = r"0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*"
_STRING = r"'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\""
# All characters that may be part of a name in some script; str.isidentifier decides.
_NAME = r"[^\x00-/:-@\[-^`{-\x7f\s]+"
_OPERATOR = lexer.operator_re.pattern

# The most frequent forms come first.
TOKEN = re.compile(
    rf"\s*(?:(?P<name>(?!\d|r(?:{_STRING})){_NAME})|(?P<variable_end>-\}}\}}\s*|\}}\}})"
    rf"|(?P<block_end>\+%\}}|-%\}}\s*|%\}})|(?P<operator>{_OPERATOR[1:-1]})|(?P<string>{_STRING})"
    # A string with an r before it has no escapes, as in the specification's examples: r'\d+'.
    rf"|(?P<float>{_FLOAT})|(?P<integer>{_INTEGER})|(?P<raw>r(?:{_STRING}))|(?P<misnamed>{_NAME}))",
    re.S,
)
OPERATOR = re.compile(_OPERATOR)
TAG = re.compile(r"(?P<raw>\{%[-+]?\s*raw\s*(?:-%\}\s*|%\}))|\{[{%#][-+]?")
COMMENT_END = re.compile(r"\+#\}|-#\}\s*|#\}")
RAW_END = re.compile(r"\{%(?P<sign>[-+]?)\s*endraw\s*(?:\+%\}|-%\}\s*|%\})")

OPERATORS = lexer.operators
_ESCAPE = (
    r"\\(?:[abfnrtv\\'\"\n]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3]?[0-7]{1,2}|N\{[^}]*\})"
)
_MAX_DIGITS = 300


class Token(lexer.Token):
    """A token of Jinja whose `lineno` is its index in the stream. Its tests compare instead of splitting strings."""

    __slots__ = ()

    def test(self, expr: str) -> bool:
        kind = self.type
        return expr == kind or (kind == "name" and expr == f"name:{self.value}")

    def test_any(self, *iterable: str) -> bool:
        kind = self.type
        return kind in iterable or (kind == "name" and f"name:{self.value}" in iterable)


# A tuple's own constructor: that of a NamedTuple is a Python function, which takes twice as long.
new_token: Callable[[tuple[int, str, Any]], Token] = partial(tuple.__new__, Token)


def to_integer(digits: str, start: int) -> int:
    if len(digits) > _MAX_DIGITS:
        raise TemplateError(f"a number of {len(digits):,} digits is too long", start, start + len(digits))
    # Base 0 accepts the prefixes 0x, 0o and 0b.
    return int(digits.replace("_", ""), 0)


def to_float(digits: str, start: int) -> float:
    number = float(digits.replace("_", ""))
    if not math.isfinite(number):
        raise TemplateError("this number is too large", start, start + len(digits))
    return number


def to_text(quoted: str, start: int) -> str:
    """The value of a string. An unknown escape is kept as it is, as in `'\\d+'`."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    try:
        # One escape at a time: the codec warns about unknown escapes in a longer text.
        text = re.sub(_ESCAPE, lambda match: match.group().encode().decode("unicode_escape"), inner)
        # A lone surrogate is not a character and could not be stored.
        text.encode()
    except UnicodeError:
        message = "this string has an escape that is not a character"
        raise TemplateError(message, start, start + len(quoted)) from None
    return text


_LITERALS: dict[str, Callable[[str, int], Any]] = {
    "string": to_text,
    "integer": to_integer,
    "float": to_float,
}
_CLOSERS = {"lparen": ")", "lbracket": "]", "lbrace": "}"}
_OPENERS = {"rparen": "lparen", "rbracket": "lbracket", "rbrace": "lbrace"}
_ENDS = {f"end{name}": name for name in TEXT_STATEMENTS}
_MIDDLES = {"else": ("if", "for"), "elif": ("if",)}
_COUNTED = frozenset({*_CLOSERS, *_OPENERS, "comma", "sub", "add"})
"""Operators that change how deep the parser's stack is."""
_OPERANDS = frozenset({"name", "integer", "float", "string", "rparen", "rbracket", "rbrace"})
_PREFIXES = frozenset({"not", "if", "else"})
_TAG_ENDS = frozenset({"variable_end", "block_end"})
# Stack frames that Jinja's parser needs for one bracket, and for one statement.
_BRACKET_FRAMES = 14
_STATEMENT_FRAMES = 5

_STRAY = {
    "&": "`&` is not an operator here: write `and`",
    "!": "`!` is not an operator here: write `not`",
    "?": "`?` is not an operator here: write `a if condition else b`",
    "'": "this string is never closed",
    '"': "this string is never closed",
    "`": "a backtick quotes nothing here: use ' or \"",
    "$": "`$` has no meaning here: write the name without it",
}


class Scanner:
    """The tokens of one text, with their offsets, and for each opening bracket the one that closes it."""

    def __init__(self, text: str, limits: ExprLimits) -> None:
        self.text = text
        self.limits = limits
        self.tokens: list[Token] = []
        self.spans: list[tuple[int, int]] = []
        self.closers: dict[int, int] = {}
        self.holes = 0
        self.has_text = False
        self._open: list[tuple[str, int]] = []

    def scan(self) -> None:
        """Find all tokens, or raise TemplateError."""
        text, pos = self.text, 0
        # Before anything is scanned: the work is linear in the length.
        if len(text) > self.limits.template:
            message = f"the template has {len(text):,} characters: the limit is {self.limits.template:,}"
            raise TemplateError(message, 0, 0)
        while match := TAG.search(text, pos):
            start, end = match.span()
            # `{{-` strips the text before it.
            self._add_data(pos, start, text.startswith("-", start + 2))
            kind = text[start + 1]
            if match.lastgroup == "raw":
                pos = self._scan_raw(start, end)
            elif kind == "#":
                pos = self._scan_comment(start, end)
            else:
                pos = self._scan_tag(start, end, "variable" if kind == "{" else "block")
        self._add_data(pos, len(text), False)
        # The innermost statement that is still open.
        if self._open:
            name, number = self._open[-1]
            hint = ", or `=` and a value are missing" if name == "set" else ""
            raise self._error(f"`{{% {name} %}}` is never closed with `{{% end{name} %}}`{hint}", number)
        self._add("eof", "", len(text), len(text))

    @property
    def lone(self) -> bool:
        """Whether it is one `{{ expression }}` and nothing else."""
        return self.holes == 1 and not self.has_text

    def _add(self, kind: str, value: Any, start: int, end: int) -> None:
        self.tokens.append(new_token((len(self.tokens), kind, value)))
        self.spans.append((start, end))

    def _add_data(self, start: int, end: int, strip: bool) -> None:
        data = self.text[start:end]
        if strip:
            data = data.rstrip()
        # Empty data is not a token, as in Jinja.
        if data:
            self.has_text = self.has_text or not data.isspace()
            self._add("data", data, start, start + len(data))

    def _scan_raw(self, start: int, end: int) -> int:
        match = RAW_END.search(self.text, end)
        if match is None:
            raise TemplateError("`{% raw %}` is never closed with `{% endraw %}`", start, end)
        # Raw text is text even if it is empty or looks like a tag.
        self.has_text = True
        self._add_data(end, match.start(), match["sign"] == "-")
        return match.end()

    def _scan_comment(self, start: int, end: int) -> int:
        match = COMMENT_END.search(self.text, end)
        if match is None:
            raise TemplateError("`{#` is never closed with `#}`", start, end)
        return match.end()

    def _scan_tag(self, start: int, pos: int, kind: str) -> int:
        """Add the tokens of one tag. Returns the offset after it."""
        text, tokens, closing = self.text, self.tokens, f"{kind}_end"
        first = number = len(tokens)
        self._add(f"{kind}_begin", text[start:pos], start, pos)
        brackets: list[tuple[int, int]] = []
        # `frames` estimates how deep the parser's stack is by now, `base` how deep after the next comma.
        frames = base = len(self._open) * _STATEMENT_FRAMES
        allowed, most = self.limits.nesting * _BRACKET_FRAMES, self.limits.tokens
        # This loop takes most of the time of a scan; local names make it faster.
        match_token, add, add_span = TOKEN.match, tokens.append, self.spans.append
        while match := match_token(text, pos):
            number += 1
            word: str = match.lastgroup  # type: ignore[assignment]  # each alternative is a group
            start, pos = span = match.span(word)
            value: Any = match[word]
            if word == "name":
                if not value.isidentifier():
                    raise TemplateError(f"`{shorten(value)}` is not a name", start, pos)
                # Each prefix operator adds a level to the parser's stack, although it opens no bracket.
                if value in _PREFIXES:
                    frames += 1
            elif word == closing and not brackets:
                self._add(closing, value, start, start + len(value.rstrip()))
                break
            elif word == "operator" or word in _TAG_ENDS:
                if word != "operator":
                    # `}}` between brackets, or in another kind of tag, does not end the tag: `{{ {'a': {}} }}`.
                    value = OPERATOR.match(text, start)[0]  # type: ignore[index]  # begins with an operator
                    start, pos = span = start, start + len(value)
                word = OPERATORS[value]
                if word not in _COUNTED:
                    pass
                elif word in _CLOSERS:
                    brackets.append((number, base))
                    frames = base = frames + _BRACKET_FRAMES
                elif word in _OPENERS:
                    opened = self._close(word, start, brackets)
                    self.closers[opened] = number
                    frames = base - _BRACKET_FRAMES
                    base = brackets.pop()[1]
                elif word == "comma":
                    frames = base
                elif tokens[-1].type not in _OPERANDS:
                    # A sign after an operator or a bracket is a prefix: `- - - x` nests.
                    frames += 1
            elif word == "raw":
                word, value = "string", value[2:-1]
            elif word in _LITERALS:
                value = _LITERALS[word](value, start)
            else:
                raise TemplateError(f"`{value}` is not a name", start, pos)
            add(new_token((number, word, value)))
            add_span(span)
            if frames > allowed:
                message = f"nested too deeply: the limit is {self.limits.nesting} levels"
                raise TemplateError(message, start, pos)
            if number >= most:
                message = f"the template is too long: the limit is {most:,} words"
                raise TemplateError(message, start, pos)
        else:
            raise self._stray(pos, first, brackets)
        if kind == "variable":
            self.holes += 1
        else:
            self.has_text = True
            self._scan_statement(first)
        return pos

    def _close(self, word: str, start: int, brackets: list[tuple[int, int]]) -> int:
        """The index of the bracket that this one closes."""
        char = self.text[start]
        if not brackets:
            raise TemplateError(f"`{char}` closes nothing", start, start + 1)
        opened = brackets[-1][0]
        token = self.tokens[opened]
        if token.type != _OPENERS[word]:
            raise self._error(f"`{token.value}` is never closed with `{_CLOSERS[token.type]}`", opened)
        return opened

    def _stray(self, pos: int, first: int, brackets: list[tuple[int, int]]) -> TemplateError:
        """The error for text that is not a token."""
        rest = self.text[pos:].lstrip()
        if not rest:
            number = brackets[-1][0] if brackets else first
            token = self.tokens[number]
            closer = _CLOSERS.get(token.type) or ("}}" if token.type == "variable_begin" else "%}")
            return self._error(f"`{token.value[:2]}` is never closed with `{closer}`", number)
        start = len(self.text) - len(rest)
        # An unclosed string reaches to the end of the text.
        end = len(self.text) if rest[0] in "'\"" else start + 1
        return TemplateError(_STRAY.get(rest[0], f"`{rest[0]}` has no meaning here"), start, end)

    def _scan_statement(self, first: int) -> None:
        """Track the open statements. `first` is the index of the `{%`."""
        token = self.tokens[first + 1]
        name = str(token.value)
        known = self.limits.statements
        if token.type != "name":
            raise self._error("a statement begins with its name: for, if, set", first)
        if name in known:
            if name != "set" or not self._assigns(first):
                self._open.append((name, first + 1))
        elif _ENDS.get(name) in known:
            self._expect(name, (_ENDS[name],), first + 1)
            self._open.pop()
        elif name in _MIDDLES:
            # `else` belongs to the innermost `if` or `for`.
            self._expect(name, _MIDDLES[name], first + 1)
        else:
            is_refused = name.removeprefix("end") in _JINJA_STATEMENTS
            reason = "is not part of this language" if is_refused else "is no statement"
            *others, last = sorted(known)
            message = f"`{{% {shorten(name)} %}}` {reason}: there are {', '.join(others)} and {last}"
            raise self._error(message, first + 1)

    def _assigns(self, first: int) -> bool:
        """Whether it is `{% set x = ... %}` and not the block form that ends with `{% endset %}`."""
        number = first + 2
        while number < len(self.tokens):
            if self.tokens[number].type == "assign":
                return True
            # Skips what is in brackets: `=` there names an argument.
            number = self.closers.get(number, number) + 1
        return False

    def _expect(self, name: str, wanted: tuple[str, ...], number: int) -> None:
        if not self._open:
            raise self._error(f"`{{% {name} %}}` without `{{% {wanted[0]} %}}` before it", number)
        innermost, opened = self._open[-1]
        if innermost not in wanted:
            message = f"`{{% {innermost} %}}` is not closed before `{{% {name} %}}`"
            raise self._error(message, opened)

    def _error(self, message: str, number: int) -> TemplateError:
        return TemplateError(message, *self.spans[number])
