"""The base class of dialects, and the scalars that they create from the text of a file, with the position of every
part."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from collections.abc import Mapping as ReadOnly
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from wfc.caching import pattern
from wfc.config import Config
from wfc.findings import Edit, Fix, Note, Severity
from wfc.language.dialect import NotRewrittenError, Parsed, Report, Shadowing
from wfc.language.shape import Shape
from wfc.struct import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence, Source, Span
from wfc.yaml.nodes import ScalarValue

if TYPE_CHECKING:
    from wfc.dialects.editing import OpenFile, Part, StepUse, Suggestion


@struct(frozen=True)
class Surroundings:
    """Other texts and names that a file may refer to."""

    path: str
    """The path of the file, relative to the project and with `/`."""
    config: Config
    files: ReadOnly[str, str]
    """The texts of other files by path, relative to the project: agents, the definitions of missions, and
    imported files."""

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


class Dialect(ABC):
    """One language that workflows are written in, and the only way to ask for anything that is specific to it."""

    name: str
    has_companions = False
    """Whether its files refer to other files, so that they are read with `parse_among`."""

    @abstractmethod
    def matches(self, root: Mapping) -> bool:
        """Whether a file's top level looks like this language."""

    @abstractmethod
    def parse(self, root: Mapping) -> Parsed:
        """The file as core AST. Parts that can't be read are left out, and rules report them."""

    def parse_among(self, root: Mapping, around: Surroundings) -> Parsed:
        """The file as core AST, in a language whose files refer to other files."""
        raise NotImplementedError(self.name)

    def is_library(self, root: Mapping) -> bool:
        """Whether a file has only parts that other files import. It is not a workflow, and has no module."""
        return False

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The language as JSON Schema."""

    def mark(self) -> dict[str, Any]:
        """A JSON Schema that a file of this language satisfies, and no file of another one."""
        return {"required": [self.name], "not": {"required": ["steps"]}}

    def in_braces(self, root: Mapping) -> list[Edit]:
        """The edits that write the references of a file in double braces. Raises `NotRewrittenError`."""
        raise NotRewrittenError("only a workflow of blocks has this notation")

    def mission(self, parsed: Parsed, *, only_start: bool) -> dict[str, str]:
        """The files for people and agents that describe a workflow, by name. Raises `NotRewrittenError`.

        `only_start`: the workflow is written as such files itself, and only the prompt for its start is made.
        """
        raise NotRewrittenError("only a workflow of phases is a mission")

    # For editors. A dialect without these still has findings, and hover texts for its fields.

    def complete(self, file: OpenFile, text: str, offset: int) -> Iterable[Suggestion]:
        """Suggestions at an offset. `text` may be newer than `file`, and is often not valid YAML."""
        return ()

    def page(self, shape: Shape, kind: str) -> str:
        """The documentation of the `type` of a mapping, in Markdown."""
        return ""

    def step_uses(self, parsed: Parsed, root: Node | None) -> Iterable[StepUse]:
        """The places that name steps. A translated file needs them: the ids of the core's steps are not in it."""
        return ()

    def part_at(self, source: Source, offset: int) -> Part | None:
        """The part of a step's result at an offset, for references that are not in the core AST."""
        return None


class Reports:
    """Findings collected during the translation of a file."""

    def __init__(self) -> None:
        self.all: list[Report] = []
        self.shadowing: list[Shadowing] = []

    def add(
        self,
        code: str,
        span: Span,
        message: str,
        help: str = "",
        *,
        notes: tuple[Note, ...] = (),
        step: str | None = None,
        severity: Severity | None = None,
        fix: Fix | None = None,
    ) -> None:
        self.all.append(Report(code, span, message, help, notes, step or None, severity, fix))


# Scalars made from the text of a file.


@struct(frozen=True, slots=True)
class Piece:
    """Some characters, and the range of the original text that they were made from."""

    text: str
    start: int
    end: int

    @property
    def is_copy(self) -> bool:
        return len(self.text) == self.end - self.start


@struct(eq=False, slots=True)
class Translated(Scalar):
    """A scalar whose text was made from another scalar. Its positions are positions in the original."""

    origin: Scalar
    pieces: tuple[Piece, ...]

    def at(self, start: int, end: int) -> Span:
        place = self._origin_of(start, end)
        return self.origin.at(*place) if place else self.origin.span

    def excerpt(self, start: int, end: int) -> str:
        place = self._origin_of(start, end)
        if place is None:
            return self.text[start:end]
        # The whole text keeps the braces around it; an expression in it is quoted without them.
        is_whole = end - start == len(self.text)
        return self.origin.excerpt(*(place if is_whole else _whole_holes(self.origin.text, *place)))

    def _origin_of(self, start: int, end: int) -> tuple[int, int] | None:
        """The part of the original's text that characters start to end were made from."""
        ends = accumulate(len(piece.text) for piece in self.pieces)
        touched = [
            _place(piece, start - (after - len(piece.text)), end - (after - len(piece.text)))
            for piece, after in zip(self.pieces, ends, strict=True)
            if after > start and after - len(piece.text) < max(end, start + 1)
        ]
        return (min(first for first, _ in touched), max(last for _, last in touched)) if touched else None


def _place(piece: Piece, start: int, end: int) -> tuple[int, int]:
    """The range of the original that characters start to end of a piece were made from."""
    # Only a copy has the same offsets; a rewritten piece is mapped as a whole.
    if not piece.is_copy:
        return piece.start, piece.end
    return piece.start + max(start, 0), piece.start + min(max(end, 0), len(piece.text))


_HOLE = pattern(r"\$\{([^}]*)\}|\{\{-?(.*?)-?\}\}", re.DOTALL)
_END_OF_KEY = pattern(r"""['"]?\s*\]""")


def _whole_holes(text: str, start: int, end: int) -> tuple[int, int]:
    """The range, extended so that it cuts no `${ }`, `{{ }}` or `[ ]` apart. Of one hole it is only the inside."""
    inside = text[start:end]
    # The place of a key in brackets is the key alone.
    if inside.count("[") > inside.count("]") and (closing := _END_OF_KEY.match(text, end)):
        end = closing.end()
    found = list(_HOLE.finditer(text))
    for hole in found:
        if hole.start() <= start and end <= hole.end():
            first, last = hole.span(hole.lastindex or 0)
            return max(start, first), min(end, last)
    holes = [hole.span() for hole in found]
    begins = [first for first, last in holes if first < start < last]
    ends = [last for first, last in holes if first < end < last]
    return min([start, *begins]), max([end, *ends])


# Scalars whose expressions are JavaScript.


class Script(Scalar):
    __slots__ = ()

    @property
    def language(self) -> str:
        return "javascript"


class TranslatedScript(Translated):
    __slots__ = ()

    @property
    def language(self) -> str:
        return "javascript"


_SCRIPTS: dict[type, type] = {Scalar: Script, Translated: TranslatedScript}


def mark_scripts(node: Node) -> None:
    """Make the texts of a tree JavaScript. They stay the same objects, since other parts of the file know them."""
    match node:
        case Scalar():
            node.__class__ = _SCRIPTS.get(type(node), type(node))
        case Sequence():
            for item in node.items:
                mark_scripts(item)
        case Mapping():
            for entry in node.entries:
                mark_scripts(entry.value)


def translated(origin: Scalar, pieces: list[Piece]) -> Scalar:
    text = "".join(piece.text for piece in pieces)
    return Translated(origin.span, text, text, origin.style, origin, tuple(pieces))


def made(value: ScalarValue, at: Scalar | Span) -> Scalar:
    """A scalar that is not in the file. Findings about it point at the place that it was made for."""
    span = at.span if isinstance(at, Scalar) else at
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return Translated(span, text, value, "", Scalar(span, "", None, ""), ())
