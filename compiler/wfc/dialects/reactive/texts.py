"""Rewrites the expressions of a text: references become those of the core, everything else stays as it is written.

Positions in the new text are positions in the file, so that findings point at what the author wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wfc.caching import pattern
from wfc.dialects.base import Piece, Reports, made, translated
from wfc.dialects.reactive.names import SCOPES, TIERS, Meaning, Place, meaning
from wfc.dialects.reactive.scripts import holes, joined, script
from wfc.findings import Edit, Fix, Severity
from wfc.language.dialect import Shadowing
from wfc.suggest import did_you_mean, nearest
from wfc.template import Read
from wfc.template.reads import Part
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence
from wfc_runtime.javascript import Hole

_FILTER = pattern(r"(?s)(?P<value>.*[^|\s])(?P<bar>\s*\|\s*path_to_key\s*)")
_LITERAL = ("[", "{", "`")


class Texts:
    """The texts of one place. It collects the state fields that they read."""

    def __init__(self, place: Place, reports: Reports) -> None:
        self.place = place
        self.reads: dict[str, None] = {}
        self._reports = reports

    # -- values

    def tree(self, node: Node) -> Node:
        """A value: each string in it is a text with holes."""
        match node:
            case Scalar():
                return self.text(node) if isinstance(node.value, str) else node
            case Sequence():
                return Sequence(node.span, [self.tree(item) for item in node.items])
            case Mapping():
                return Mapping(node.span, [Entry(one.key, self.tree(one.value)) for one in node.entries])

    def text(self, node: Scalar) -> Scalar:
        """A text with holes. One that begins with a brace or bracket, and is JavaScript, is not a text."""
        found = holes(node.text)
        if not found:
            return node
        pieces: list[Piece] = []
        at = 0
        for hole in found:
            pieces.append(_copy(node.text, at, hole.inner_start))
            pieces += self._hole(node, hole)
            at = hole.inner_end
        pieces.append(_copy(node.text, at, len(node.text)))
        return translated(node, pieces)

    def words(self, node: Scalar) -> Scalar:
        """A text with holes that is always text: a value alone in it is printed as within other text."""
        found = holes(node.text)
        is_lone = len(found) == 1 and not _outside(node.text, found[0]).strip()
        if not is_lone or self._is_text(node.text[found[0].inner_start : found[0].inner_end]):
            return self.text(node)
        size = len(node.text)
        pieces: tuple[Piece, ...] = getattr(self.text(node), "pieces", ())
        # With a second hole, an empty one, the core makes text of the value instead of keeping its type.
        return translated(node, [*pieces, Piece("{{ '' }}", size, size)])

    def _is_text(self, code: str) -> bool:
        """Whether an expression gives text, as far as can be seen: it is a reference to no field of another type."""
        parsed = script(code)
        read = parsed.reads[0] if parsed and len(parsed.reads) == 1 else None
        if read is None or read.start or read.end < len(code):
            return False
        match [read.root, *(str(part.name) for part in read.path)]:
            case ["inputs" | "error", _]:
                return True
            case [tier, name] if tier in TIERS:
                return name not in self.place.fields.computed and self._holds_text(name)
            case [name]:
                is_field = name in self.place.fields.computed or not self._holds_text(name)
                return name in self.place.result or not is_field
        return False

    def _holds_text(self, field: str) -> bool:
        return self.place.fields.types.get(field, "string") == "string"

    def expression(self, node: Scalar) -> Scalar:
        """A field that takes an expression. Braces may be omitted, or enclose parts of it."""
        if not isinstance(node.value, str):
            return made("{{ " + str(node.value).lower() + " }}", node)
        found = holes(node.text)
        if len(found) == 1 and not _outside(node.text, found[0]).strip():
            return self.text(node)
        return self.wrapped(node, *(("(", ")") if node.text.lstrip().startswith("{") else ("", "")))

    def wrapped(self, node: Scalar, before: str, after: str, returns: int | None = None) -> Scalar:
        """A whole text as code, with other code around it; `returns` is where the value begins that it returns."""
        size = len(node.text)
        code = list(self._code(node, 0, size, joined(node.text)))
        if returns is not None:
            code = list(_with_return(code, returns))
        return translated(node, [Piece("{{ " + before, 0, 0), *code, Piece(after + " }}", size, size)])

    def bare(self, node: Scalar, start: int, end: int) -> Scalar:
        """A part of a text that is an expression without braces around it."""
        code = self._code(node, start, end, joined(node.text))
        return translated(node, [Piece("{{ ", start, start), *code, Piece(" }}", end, end)])

    def part(self, node: Scalar, start: int, end: int) -> Scalar:
        """A part of a text, with holes."""
        found = [hole for hole in holes(node.text) if start <= hole.start and hole.end <= end]
        pieces: list[Piece] = []
        at = start
        for hole in found:
            pieces.append(_copy(node.text, at, hole.inner_start))
            pieces += self._hole(node, hole)
            at = hole.inner_end
        pieces.append(_copy(node.text, at, end))
        return translated(node, pieces)

    # -- what a text is

    def is_value(self, node: Scalar) -> bool:
        """Whether a text without braces around it is an expression: it reads a member of a scope or the step's own
        result, or it is a literal in brackets, braces or backticks."""
        found = script(joined(node.text))
        if found is None or found.kind not in ("expression", "object"):
            return False
        begins = len(node.text) - len(node.text.lstrip())
        # Two holes are text, although in parentheses they would read like a call.
        if any(hole.start == begins for hole in holes(node.text)):
            return False
        if node.text.startswith(_LITERAL, begins):
            return True
        return not holes(node.text) and any(self._reads_scope(one) for one in found.reads)

    def argument(self, node: Node) -> Node:
        """A value for an input of a task: text is an expression if all that it reads is known here."""
        if isinstance(node, Scalar) and isinstance(node.value, str) and not holes(node.text):
            found = script(node.text)
            if found and found.kind == "expression" and found.reads and all(map(self._is_known, found.reads)):
                return self.expression(node)
        return self.tree(node)

    def _is_known(self, read: Read) -> bool:
        if read.root in SCOPES or read.root in self.place.local:
            return bool(read.path) or read.root in self.place.local
        found = meaning(read.root, None, self.place, False)
        return found is not None and not found.problem

    def _reads_scope(self, read: Read) -> bool:
        return read.root in self.place.result or (read.root in SCOPES and bool(read.path))

    # -- code

    def _hole(self, node: Scalar, hole: Hole) -> Iterator[Piece]:
        inner = node.text[hole.inner_start : hole.inner_end]
        piped = _FILTER.fullmatch(inner)
        if piped is None:
            yield from self._code(node, hole.inner_start, hole.inner_end)
            return
        yield Piece("path_to_key(", hole.inner_start, hole.inner_start)
        yield from self._code(node, hole.inner_start, hole.inner_start + piped.end("value"))
        yield Piece(")", hole.inner_start + piped.end("value"), hole.inner_end)

    def _code(self, node: Scalar, start: int, end: int, text: str = "") -> Iterator[Piece]:
        """A piece of code with its references replaced; `text` is the node's, with other characters for its braces."""
        text = text or node.text
        parsed = script(text[start:end])
        at = start
        for read in parsed.reads if parsed else ():
            found = self._resolve(read, node, start)
            if found is None:
                continue
            first, last = start + read.start, start + read.start + len(read.root)
            if found.parts and read.path:
                last = _end_of(read.path[found.parts - 1], text, start)
            # The shorthand `{name}` needs its key once the name is replaced.
            code = f"{read.root}: {found.code}" if parsed and read.start in parsed.shorthands else found.code
            yield from _copies(text, node.text, at, first)
            yield Piece(code, first, last)
            at = last
        yield from _copies(text, node.text, at, end)

    def _resolve(self, read: Read, node: Scalar, offset: int) -> Meaning | None:
        part = read.path[0] if read.path else None
        is_member = part is not None and not part.called
        found = meaning(read.root, part.name if part else None, self.place, is_member)
        if found is None:
            return None
        self.reads |= dict.fromkeys(found.fields)
        if found.is_whole:
            fields = self.place.fields
            self.reads |= dict.fromkeys((*fields.raw.values(), *fields.computed.values()))
        if found.problem:
            self._report(found, read, node, offset)
        elif found.is_own and self.place.included:
            at = node.at(offset + read.start, offset + read.start + len(read.root))
            called = tuple(self.place.included.values())
            self._reports.shadowing.append(Shadowing(read.root, at, self.place.step, called))
        return found

    def _report(self, found: Meaning, read: Read, node: Scalar, offset: int) -> None:
        part = read.path[0] if found.parts and read.path else None
        name = str(part.name) if part else read.root
        start, end = (part.start, part.end) if part else (read.start, read.start + len(read.root))
        near = nearest(name, found.candidates)
        place = node.at(offset + start, offset + end)
        fix = None
        if (
            found.instead
            and place.text.endswith(name)
            and part
            and part.start == len(read.root) + 1 + read.start
        ):
            place = node.at(offset + read.start, offset + end)
            fix = Fix(f"write {found.instead}", (Edit(place, found.instead),), safe=True)
        elif near and place.text.endswith(name):
            fix = Fix(f"write {near}", (Edit(place, place.text.removesuffix(name) + near),), safe=False)
        self._reports.add(
            found.code_of_finding,
            place,
            found.problem,
            f"write `{found.instead}`"
            if found.instead
            else did_you_mean(name, found.candidates)
            if found.candidates
            else "",
            step=self.place.step,
            severity=None if found.code_of_finding == "WF202" and not found.is_mild else Severity.WARNING,
            fix=fix,
        )


def _with_return(code: Iterable[Piece], at: int) -> Iterator[Piece]:
    """Code with `return` at a position, where a statement begins."""
    for piece in code:
        if piece.start <= at < piece.end:
            if at > piece.start:
                yield Piece(piece.text[: at - piece.start], piece.start, at)
            yield Piece("return ", at, at)
            yield Piece(piece.text[at - piece.start :], at, piece.end)
        else:
            yield piece


def _end_of(part: Part, text: str, offset: int) -> int:
    """The position after a part of a path, with the bracket that closes it."""
    end = offset + part.end
    if text[offset + part.start - 1] == ".":
        return end
    closed = text.find("]", end)
    return closed + 1 if closed >= 0 else end


def _copy(text: str, start: int, end: int) -> Piece:
    return Piece(text[start:end], start, end)


def _copies(text: str, original: str, start: int, end: int) -> Iterator[Piece]:
    """A part of a text in which parentheses stand for braces. Each is mapped to both characters of its brace."""
    at = start
    while at < end and text is not original:
        changed = next((n for n in range(at, end) if text[n] != original[n]), end)
        yield _copy(text, at, changed)
        at = min(changed + 2, end)
        if changed < end:
            yield Piece(text[changed:at].strip(), changed, at)
    if at < end:
        yield _copy(text, at, end)


def _outside(text: str, hole: Hole) -> str:
    return text[: hole.start] + text[hole.end :]
