"""Texts with `${...}` as templates of the core."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from wfc.dialects.blocks.expressions import ATOM, COMPARISON, Expr, all_reads, literal, piped
from wfc.dialects.blocks.kinds import Mode
from wfc.dialects.blocks.pieces import Piece, made, translated
from wfc.dialects.blocks.references import REFERENCE, Reference, find_references
from wfc.dialects.blocks.resolving import Site, UnresolvedError
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence

_OPENS = re.compile(r"\{[{%#]|\{$")
_END_OF_RAW = re.compile(r"(\{%[-+]?\s*endraw\s*[-+]?%\})")


_NEARLY = re.compile(r"\$\{\s*\(*(?:\$\{)?(?:inputs|blocks|metadata)\.[^{}]*\}")
_STAYS = "this is no plain path, so it stays in the text as it is"
_STAYS_HELP = "operators work in conditions, and in outputs that are nothing else"


class Texts:
    """Translates the texts of one place. What can't be is told to `report`, and stays as it is."""

    def __init__(self, site: Site, report: Callable[[UnresolvedError, Scalar], None]) -> None:
        self.site = site
        self._report = report

    def node(self, node: Node, mode: Mode) -> Node:
        """A value with all the texts in it."""
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
        found = self.resolved(node)
        if not found:
            return node if not _OPENS.search(node.text) else translated(node, _plain(node.text, 0))
        [(reference, value), *others] = found
        is_lone = not others and reference.end - reference.start == len(node.text.strip())
        if is_lone and node.text.strip() == node.text:
            return _lone(node, value, mode)
        return translated(node, list(_pieces(node.text, found)))

    def prefixed(self, prefix: str, node: Scalar) -> Scalar:
        """The text with something before it."""
        return translated(node, [Piece(prefix, 0, 0), *_pieces(node.text, self.resolved(node))])

    def resolved(self, node: Scalar) -> list[tuple[Reference, Expr]]:
        """The references of a text that mean something here."""
        found: list[tuple[Reference, Expr]] = []
        for reference in find_references(node.text):
            try:
                value = self.site.resolve(reference)
                self.site.reads |= dict.fromkeys(sorted(value.reads))
                found.append((reference, value))
            except UnresolvedError as error:
                self._report(error, node)
        for left in _NEARLY.finditer(node.text):
            if not REFERENCE.fullmatch(left[0]):
                self._report(
                    UnresolvedError("WF202", _STAYS, left.start(), left.end(), _STAYS_HELP, True), node
                )
        return found


def _lone(node: Scalar, value: Expr, mode: Mode) -> Scalar:
    if value.is_constant:
        constant = value.constant if mode is Mode.VALUE else _as_text(value.constant)
        return made(constant, node)
    if mode is Mode.TEXT and value.type != "str":
        value = piped(value, "text", "str")
    elif mode is Mode.DATA and value.type not in ("str", "list", "dict"):
        value = piped(value, "scalar_text" if value.type == "any" else "text", "any")
    return translated(node, hole(value))


def hole(value: Expr) -> list[Piece]:
    return [
        Piece("{{ ", value.start, value.start),
        *value.pieces,
        Piece(" }}", value.end, value.end),
    ]


def _pieces(text: str, found: list[tuple[Reference, Expr]]) -> Iterable[Piece]:
    at = 0
    for reference, value in found:
        yield from _plain(text[at : reference.start], at)
        if value.is_constant:
            yield from _literal(_as_text(value.constant), reference)
        else:
            yield from hole(value if value.type == "str" else piped(value, "text", "str"))
        at = reference.end
    yield from _plain(text[at:], at)


def _plain(text: str, start: int) -> list[Piece]:
    """Text that means nothing but itself, also where the core would see a template in it."""
    if not text:
        return []
    end = start + len(text)
    if not _OPENS.search(text):
        return [Piece(text, start, end)]
    pieces: list[Piece] = []
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


def _literal(text: str, reference: Reference) -> Iterable[Piece]:
    return (Piece(piece.text, reference.start, reference.end) for piece in _plain(text, reference.start))


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def concatenation(text: str, found: list[tuple[Reference, Expr]], start: int, end: int) -> Expr:
    """A text with references as one expression, standing for another reference."""
    ends = [0, *(reference.end for reference, _ in found)]
    starts = [*(reference.start for reference, _ in found), len(text)]
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
        text_part = part if part.type == "str" else piped(part, "text", "str")
        pieces += [Piece(" ~ ", start, end)] if number else []
        pieces += [Piece(piece.text, start, end) for piece in text_part.within(ATOM)]
    reads = all_reads(parts)
    return Expr(tuple(pieces), "str", COMPARISON, reads=reads) if parts else literal("", start, end)
