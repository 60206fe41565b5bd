"""Texts that are put together from several places of a file, and the references of their authors.

An author's text may read `inputs` and `phases.<id>.<role>.<part of the report>`. The latter become reads of the state
field that keeps the report. Every character of the result keeps the place where it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc.dialects.base import Piece, translated
from wfc.struct import struct
from wfc.yaml import Scalar, Span

_TAG = re.compile(
    r"\{#.*?#\}|\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}|(?P<tag>\{\{.*?\}\}|\{%.*?%\})",
    re.DOTALL,
)
_STRING = re.compile(r"(?P<key>(?<=[\w\])])\[\s*)?(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")", re.DOTALL)
REFERENCE = re.compile(
    r"(?<![\w.'\"])phases"
    r"(?:\.(?P<phase>[A-Za-z0-9_-]+)|\[\s*(?P<q1>['\"])(?P<phase_key>[^'\"]+)(?P=q1)\s*\])"
    r"(?:(?:\.(?P<role>[A-Za-z0-9_-]+)|\[\s*(?P<q2>['\"])(?P<role_key>[^'\"]+)(?P=q2)\s*\]))?"
)
OTHER_ROOT = re.compile(r"(?<![\w.'\"])state\b")
_PLACEHOLDER = re.compile(r"<(?P<name>workflow_id|task_id|step_id|phase_id)>|\{(?P<braced>phase_id)\}")


@struct(eq=False, slots=True)
class Composed(Scalar):
    """A text made of parts, each from a scalar of the file or made for it. Positions lead to the part."""

    parts: tuple[tuple[str, Scalar | None], ...]

    def at(self, start: int, end: int) -> Span:
        for begin, text, origin in self._placed():
            if origin is not None and begin <= start < begin + max(len(text), 1):
                return origin.at(start - begin, min(end - begin, len(text)))
        return self.span

    def excerpt(self, start: int, end: int) -> str:
        for begin, text, origin in self._placed():
            if origin is not None and begin <= start and end <= begin + len(text):
                return origin.excerpt(start - begin, end - begin)
        return self.text[start:end]

    def _placed(self) -> Iterator[tuple[int, str, Scalar | None]]:
        at = 0
        for text, origin in self.parts:
            yield at, text, origin
            at += len(text)


class Composer:
    """Collects the parts of a text."""

    def __init__(self, at: Span) -> None:
        self._at = at
        self._parts: list[tuple[str, Scalar | None]] = []

    def add(self, text: str) -> None:
        """A template of our own."""
        self._parts.append((text, None))

    def literal(self, text: str) -> None:
        """A text that is never evaluated, whatever it contains."""
        self.add(as_literal(text))

    def written(self, scalar: Scalar) -> None:
        """An author's text, without white space at its end."""
        self._parts.append((scalar.text.rstrip(), scalar))

    def made(self) -> Scalar:
        text = "".join(part for part, _ in self._parts)
        return Composed(self._at, text, text, "", tuple(self._parts))


def as_literal(text: str) -> str:
    """A template that gives exactly this text."""
    if not re.search(r"\{\{|\{%|\{#", text):
        return text
    return re.sub(r"\{[{%#]", lambda found: f"{{{{ '{found[0]}' }}}}", text)


def tags_of(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a template that are evaluated, each with its offset. String literals are blank, except keys in
    brackets: the words in them name nothing."""
    for found in _TAG.finditer(text):
        if found["tag"]:
            yield found.start(), _STRING.sub(_blank, found[0])


def _blank(found: re.Match[str]) -> str:
    return found[0] if found["key"] else " " * len(found[0])


@struct(frozen=True)
class Reference:
    """`phases.<id>.<role>` in an author's text."""

    phase: str
    role: str
    """Empty if only the phase is named."""
    start: int
    end: int


def references_of(text: str) -> Iterator[Reference]:
    for start, tag in tags_of(text):
        for found in REFERENCE.finditer(tag):
            phase = found["phase"] or found["phase_key"]
            role = found["role"] or found["role_key"] or ""
            yield Reference(phase, role, start + found.start(), start + found.end())


def with_reads(scalar: Scalar, reads: list[tuple[int, int, str]], phase_id: str) -> Scalar:
    """An author's text in which an expression replaces each reference, and ids are filled in.

    `{workflow_id}`, `{task_id}` and `{step_id}` stay: the server fills them in when it hands the action out.
    """
    text = scalar.text
    changes = list(reads)
    for found in _PLACEHOLDER.finditer(text):
        name = found["name"] or found["braced"]
        changes.append((*found.span(), phase_id if name == "phase_id" else f"{{{name}}}"))
    if not changes:
        return scalar
    pieces: list[Piece] = []
    at = 0
    for start, end, new in sorted(changes):
        if start > at:
            pieces.append(Piece(text[at:start], at, start))
        pieces.append(Piece(new, start, end))
        at = end
    if at < len(text):
        pieces.append(Piece(text[at:], at, len(text)))
    return translated(scalar, pieces)
