"""Texts with references, translated to templates of the core."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from wfc.dialects.base import Piece, made, translated
from wfc.dialects.blocks.braces import expression, substituted
from wfc.dialects.blocks.conditions import (
    REFERENCE,
)
from wfc.dialects.blocks.expressions import (
    ATOM,
    COMPARISON,
    Expr,
    all_reads,
    literal,
    piped,
)
from wfc.dialects.blocks.kinds import Mode
from wfc.dialects.blocks.notation import BRACES, DOLLAR, Hole, Notation
from wfc.dialects.blocks.results import Site, UnresolvedError
from wfc.struct import replace
from wfc.template import Template
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence

_OPENS = re.compile(r"\{[{%#]|\{$")
_NOT_NAME = re.compile(r"\W")
GIVEN = "given"
"""The input of a run for one item that has all values of its block."""
_END_OF_RAW = re.compile(r"(\{%[-+]?\s*endraw\s*[-+]?%\})")


_NEARLY = re.compile(r"\$\{\s*\(*(?:\$\{)?(?:inputs|blocks|metadata)\.[^{}]*\}")
_STAYS = "not a plain path, so it stays in the text unchanged"
_STAYS_HELP = "operators work in conditions, and in outputs that consist of one expression"


class Texts:
    """Translates the texts of one position. References that can't be resolved are reported, and stay as they are."""

    def __init__(self, site: Site, report: Callable[[UnresolvedError, Scalar], None]) -> None:
        self.site = site
        self._report = report

    @property
    def notation(self) -> Notation:
        return self.site.world.notation

    def node(self, node: Node, mode: Mode) -> Node:
        """A value with all texts in it translated."""
        match node:
            case Scalar():
                return self.scalar(node, mode)
            case Sequence():
                return replace(node, items=[self.node(item, mode) for item in node.items])
            case Mapping():
                return replace(
                    node, entries=[Entry(entry.key, self.node(entry.value, mode)) for entry in node.entries]
                )

    def scalar(self, node: Scalar, mode: Mode) -> Scalar:
        if not isinstance(node.value, str):
            return node
        template = self.notation.statements(node.text)
        if template is not None:
            return self._with_statements(node, template)
        found = self.resolved(node)
        if not found:
            return literal_text(node)
        [(hole_, value), *others] = found
        # A single reference can keep its type; anything around it makes the value text.
        is_lone = not others and hole_.end - hole_.start == len(node.text.strip())
        # In double braces, white space around a lone expression does not turn its value into text; in dollar braces
        # it does.
        if is_lone and self.notation is BRACES and mode is not Mode.TEXT:
            return _lone(node, value, Mode.VALUE, self.notation)
        is_lone = is_lone and node.text.strip() == node.text
        self.note_printed(node, found, mode if is_lone else Mode.TEXT)
        if is_lone:
            return _lone(node, value, mode, self.notation)
        return translated(node, list(_pieces(node.text, found, self.notation)))

    def note_printed(self, node: Scalar, found: list[tuple[Hole, Expr]], mode: Mode) -> None:
        """Remember how references become text, for a file that is rewritten to the other notation."""
        for hole_, value in found if mode is not Mode.VALUE else ():
            if filter_ := _as_text(value) if mode is Mode.TEXT else _printing(value):
                self.site.world.printed[node.span.start, hole_.start] = filter_

    def _moved(self, hole_: Hole, value: Expr) -> Expr:
        """In a block with `for_each`, a value is computed where the items are, and each run gets it as an input.

        A secret is not a value yet: its placeholder is made where it is used.
        """
        moved = self.site.moved
        if moved is None or value.is_constant or any("secret(" in piece.text for piece in value.pieces):
            return value
        text = "".join(piece.text for piece in value.pieces)
        words = hole_.references[0].names if hole_.references else ("value",)
        base = name = _NOT_NAME.sub("_", "_".join(words))
        number = 1
        while name in moved and "".join(piece.text for piece in moved[name].pieces) != text:
            number += 1
            name = f"{base}_{number}"
        moved[name] = value
        return Expr((Piece(f"inputs.{GIVEN}.{name}", value.start, value.end),), value.type)

    def _with_statements(self, node: Scalar, template: Template) -> Scalar:
        """A text that is a template as a whole."""
        whole = Piece(node.text, 0, len(node.text))
        if template.error is not None:
            return translated(node, [whole])  # The check of the core's templates reports the mistake.
        reads: set[str] = set()
        try:
            pieces = list(substituted(template, self.site, 0, reads, 0, len(node.text)))
        except UnresolvedError as error:
            self._report(error, node)
            return literal_text(node)
        self.site.reads |= dict.fromkeys(sorted(reads))
        if self.site.moved is not None:
            message = (
                "`{% %}` can't be used in a block with `for_each`: compute the value in a block before it"
            )
            self._report(UnresolvedError("WF202", message, 0, len(node.text)), node)
        return translated(node, pieces)

    def prefixed(self, prefix: str, node: Scalar) -> Scalar:
        """The text with a prefix."""
        found = self.resolved(node)
        return translated(node, [Piece(prefix, 0, 0), *_pieces(node.text, found, self.notation)])

    def resolved(self, node: Scalar) -> list[tuple[Hole, Expr]]:
        """The references of a text that can be resolved."""
        found: list[tuple[Hole, Expr]] = []
        notation = self.notation
        for hole_ in notation.holes(node.text):
            try:
                [*references_] = hole_.references
                value = expression(hole_, self.site) if hole_.template else self.site.resolve(*references_)
                self.site.reads |= dict.fromkeys(sorted(value.reads))
                found.append((hole_, self._moved(hole_, value)))
            except UnresolvedError as error:
                self._report(error, node)
        # Text that resembles a reference but is not one, such as `${inputs.a + 1}`, is probably a mistake.
        for left in _NEARLY.finditer(node.text) if notation is DOLLAR else ():
            if not REFERENCE.fullmatch(left[0]):
                self._report(
                    UnresolvedError("WF202", _STAYS, left.start(), left.end(), _STAYS_HELP, True), node
                )
        return found


def _lone(node: Scalar, value: Expr, mode: Mode, notation: Notation) -> Scalar:
    if value.is_constant:
        constant = value.constant if mode is Mode.VALUE else _printed(value.constant, notation)
        return made(constant, node)
    if mode is Mode.TEXT and value.type != "str":
        value = piped(value, printing_filter(notation), "str")
    elif mode is Mode.DATA and (filter_ := _printing(value)):
        value = piped(value, filter_, "any")
    return translated(node, hole(value))


def printing_filter(notation: Notation) -> str:
    """The filter that makes text of a value: as a shell writes it, or as Jinja prints what is in double braces."""
    return "string" if notation is BRACES else "text"


def _as_text(value: Expr) -> str:
    return "" if value.type in ("str", "int") else "text"


def _printing(value: Expr) -> str:
    """The filter that makes text of a value, unless it is a list or an object."""
    if value.type in ("str", "list", "dict"):
        return ""
    return "scalar_text" if value.type == "any" else "text"


def hole(value: Expr, trims: tuple[bool, bool] = (False, False)) -> list[Piece]:
    return [
        Piece("{{- " if trims[0] else "{{ ", value.start, value.start),
        *value.pieces,
        Piece(" -}}" if trims[1] else " }}", value.end, value.end),
    ]


def _pieces(text: str, found: list[tuple[Hole, Expr]], notation: Notation) -> Iterable[Piece]:
    at = 0
    for one, value in found:
        yield from _plain(text[at : one.start], at)
        if value.is_constant and not any(one.trims):
            yield from _literal(_printed(value.constant, notation), one)
        else:
            is_printed = value.type == "str" or notation is BRACES
            yield from hole(value if is_printed else piped(value, "text", "str"), one.trims)
        at = one.end
    yield from _plain(text[at:], at)


def literal_text(node: Scalar) -> Scalar:
    """A text without references."""
    return node if not _OPENS.search(node.text) else translated(node, _plain(node.text, 0))


def _plain(text: str, start: int) -> list[Piece]:
    """Literal text, protected with `raw` if the core would read it as a template."""
    if not text:
        return []
    end = start + len(text)
    if not _OPENS.search(text):
        return [Piece(text, start, end)]
    pieces: list[Piece] = []
    # A literal `{% endraw %}` would end the protection, so it becomes an expression of its own.
    parts = _END_OF_RAW.split(text)
    for number, part in enumerate(parts):
        if number % 2:
            pieces.append(Piece(f"{{{{ {part!r} }}}}", start, start + len(part)))
        elif part:
            pieces += [
                Piece("{% raw %}", start, start),
                Piece(part, start, start + len(part)),
                Piece("{% endraw %}", start + len(part), start + len(part)),
            ]
        start += len(part)
    return pieces


def _literal(text: str, at: Hole) -> Iterable[Piece]:
    return (Piece(piece.text, at.start, at.end) for piece in _plain(text, at.start))


def _printed(value: object, notation: Notation) -> str:
    if notation is BRACES:
        return str(value)
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def concatenation(
    text: str, found: list[tuple[Hole, Expr]], start: int, end: int, notation: Notation
) -> Expr:
    """A text with references as one expression that replaces another reference."""
    ends = [0, *(one.end for one, _ in found)]
    starts = [*(one.start for one, _ in found), len(text)]
    parts: list[Expr] = []
    for number, (after, before) in enumerate(zip(ends, starts, strict=True)):
        if text[after:before]:
            parts.append(literal(text[after:before], start, end))
        if number < len(found):
            parts.append(found[number][1])
    if len(parts) == 1:
        return replace(parts[0], pieces=tuple(Piece(piece.text, start, end) for piece in parts[0].pieces))
    pieces: list[Piece] = []
    for number, part in enumerate(parts):
        is_printed = part.type == "str" or notation is BRACES
        text_part = part if is_printed else piped(part, "text", "str")
        pieces += [Piece(" ~ ", start, end)] if number else []
        pieces += [Piece(piece.text, start, end) for piece in text_part.within(ATOM)]
    reads = all_reads(parts)
    return Expr(tuple(pieces), "str", COMPARISON, reads=reads) if parts else literal("", start, end)
