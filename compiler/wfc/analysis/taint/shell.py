"""The context of each inserted value in a shell command: unquoted, quoted, in a here-document, and after which words.

A reader of POSIX shell text that knows quotes, escapes, substitutions, comments and here-documents. It marks a value
as `unsure` if its context depends on the path through the template, as after a quote that only one branch of an `if`
opens.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import field

from wfc.analysis.taint.expressions import Choice, Hole, Literal, Piece
from wfc.caching import pattern
from wfc.struct import struct

_HEREDOC = pattern(r"<<-?[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.-]+))")
_SEPARATORS = frozenset(";|&\n()")
_PLAIN = pattern(r"[\w./=:,@%+-]+")
"""Characters without a special meaning in a shell."""
HOLE = "\0"
"""Stands for an inserted value among the characters of a word."""


@struct(frozen=True)
class Spot:
    """The context of an inserted value."""

    hole: Hole
    quote: str
    """Empty if it is unquoted; otherwise `'`, `"`, `<<` (a here-document) or `#` (a comment)."""
    words: tuple[str, ...]
    """The preceding words of the same command."""
    prefix: str
    """The text directly before it in the same word."""
    command: int = 0
    """The number of the command that it is in."""
    unsure: bool = False
    """Whether its quotes depend on the path through the template."""


@struct(slots=True)
class _State:
    stack: list[str] = field(default_factory=lambda: [""])
    """The open contexts: "" at the top level and in a substitution, `'`, `"` and backquotes."""
    words: list[str] = field(default_factory=list)
    word: str | None = None
    command: int = 0
    outer: list[tuple[list[str], str | None, int]] = field(default_factory=list)
    """The words around each open substitution, and the number of their command."""
    pending: list[str] = field(default_factory=list)
    document: list[str] = field(default_factory=list)
    """The delimiters of the open here-documents."""
    line: str = ""
    comment: bool = False
    escaped: bool = False
    unsure: bool = False

    @property
    def quote(self) -> str:
        if self.document:
            return "<<"
        # Inside backquotes, text is as bare as outside of them.
        return "#" if self.comment else self.stack[-1].replace("`", "")

    def same_place(self, other: _State) -> bool:
        return (self.stack, self.document, self.comment) == (other.stack, other.document, other.comment)


class Scanner:
    def __init__(self) -> None:
        self.spots: list[Spot] = []
        self._state = _State()
        self._commands = 0

    def read(self, pieces: Iterable[Piece]) -> list[Spot]:
        for piece in pieces:
            match piece:
                case Literal():
                    self._text(piece.text)
                case Hole():
                    self._hole(piece)
                case Choice():
                    self._choice(piece)
        return self.spots

    def _choice(self, choice: Choice) -> None:
        before = self._state
        ends: list[_State] = []
        for way in choice.ways:
            # Each alternative begins in the same context.
            self._state = deepcopy(before)
            self.read(way)
            ends.append(self._state)
        # Alternatives should end in the same context. If they do not, no context after them is certain.
        self._state = ends[0]
        self._state.unsure |= not all(end.same_place(ends[0]) for end in ends)

    def _hole(self, hole: Hole) -> None:
        state = self._state
        word = state.word or ""
        self.spots.append(Spot(hole, state.quote, tuple(state.words), word, state.command, state.unsure))
        state.line += HOLE
        # In a comment or here-document there are no words.
        if not state.document and not state.comment:
            state.word = word + HOLE
        state.escaped = False

    def _text(self, text: str) -> None:
        at = 0
        while at < len(text):
            # Runs of ordinary characters are taken at once: most of a command is made of them.
            plain = _PLAIN.match(text, at) if not self._state.escaped else None
            if plain is None:
                at = self._character(text, at)
                continue
            at = plain.end()
            if self._state.document or self._state.comment:
                self._state.line += plain[0]
            else:
                self._add(plain[0])

    def _character(self, text: str, at: int) -> int:
        state, char = self._state, text[at]
        if state.escaped:
            state.escaped = False
            if char != "\n":  # an escaped line break is removed by the shell
                self._add(char)
            return at + 1
        if state.document or state.comment:
            self._skipped(char)
            return at + 1
        if state.stack[-1] == "'":
            self._close(char) if char == "'" else self._add(char)
            return at + 1
        if char == "\\":
            state.escaped = True
            return at + 1
        if text.startswith("$(", at):
            self._open("")
            return at + 2
        # In double quotes, only substitutions and the closing quote matter.
        if state.stack[-1] == '"' and char not in '"`':
            self._add(char)
            return at + 1
        return self._bare(text, at)

    def _skipped(self, char: str) -> None:
        """A character in a comment or a here-document."""
        state = self._state
        if char != "\n":
            state.line += char
            return
        state.comment = False
        # `<<-` allows tabs before the delimiter. Allowing them for `<<` too ends a document too early at worst.
        if state.document and state.line.strip("\t") == state.document[0]:
            state.document.pop(0)
        elif not state.document:
            self._end_line()
        state.line = ""

    def _bare(self, text: str, at: int) -> int:
        state, char = self._state, text[at]
        if char in "'\"`":
            if state.stack[-1] == char:
                self._close(char)
            elif char == "`":
                self._open("`")
            else:
                state.stack.append(char)
                # Quotes make a word even if nothing is in them.
                state.word = state.word or ""
            return at + 1
        if char == ")" and len(state.outer) and state.stack[-1] == "":
            self._close(char)
            return at + 1
        document = _HEREDOC.match(text, at)
        # `<<<` is a here-string, whose text is an ordinary word.
        if document and not text.startswith("<<<", at):
            state.pending.append(next(group for group in document.groups() if group))
            self._end_word()
            return document.end()
        if char == "#" and state.word is None:  # inside a word, `#` is an ordinary character
            state.comment = True
        elif self._separates(text, at):
            self._end_command()
            if char == "\n":
                self._end_line()
        elif char.isspace():
            self._end_word()
        else:
            self._add(char)
        return at + 1

    def _separates(self, text: str, at: int) -> bool:
        """Whether a new command begins after it. The signs in `2>&1` and `${name}` do not separate commands."""
        char = text[at]
        if char == "{":
            return self._state.word is None and text[at + 1 : at + 2].isspace()
        redirects = char == "&" and (text[at - 1 : at] == ">" or text[at + 1 : at + 2] == ">")
        return char in _SEPARATORS and not redirects

    def _end_line(self) -> None:
        state = self._state
        self._end_command()
        state.line = ""
        # Here-documents begin on the line after the command that names them.
        state.document, state.pending = state.pending, []

    def _end_command(self) -> None:
        self._end_word()
        self._commands += 1
        self._state.words, self._state.command = [], self._commands

    def _add(self, chars: str) -> None:
        self._state.word = (self._state.word or "") + chars

    def _end_word(self) -> None:
        if self._state.word is not None:
            self._state.words.append(self._state.word)
        self._state.word = None

    def _open(self, kind: str) -> None:
        """Begin a substitution, which is a command of its own inside a word."""
        state = self._state
        state.outer.append((state.words, state.word, state.command))
        # The word around it continues when the substitution ends.
        state.word = None
        self._end_command()
        state.stack.append(kind)

    def _close(self, char: str) -> None:
        state = self._state
        state.stack.pop()
        if char in ")`" and state.outer:
            state.words, word, state.command = state.outer.pop()
            # A mark instead of the value, so that the word is not taken for empty.
            state.word = (word or "") + "$"


def spots_of(pieces: list[Piece]) -> list[Spot]:
    return Scanner().read(pieces)
