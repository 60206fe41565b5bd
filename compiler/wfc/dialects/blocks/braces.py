"""Expressions in double braces, translated to the core: each path is replaced, everything else stays as it is written.

`get(x, 'name', default)` with a path and a constant name is resolved here, so that a name which does not exist is known
at compile time. Filters that have another name in the core are renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from wfc.dialects.base import Piece
from wfc.dialects.blocks.conditions import Part, Reference
from wfc.dialects.blocks.expressions import ATOM, CHOICE, Expr, literal
from wfc.dialects.blocks.notation import PATHS, ROOTS, Hole, reference_of
from wfc.dialects.blocks.results import OF_ITEM, Site, UnresolvedError
from wfc.struct import struct
from wfc.template import Read, Template

RENAMED = {"fromjson": "parse_json", "quote": "shquote", "prettyjson": "tojson(indent=2)"}
"""Filters that files of this language know under another name."""
_TEXT_FILTERS = frozenset(
    {"capitalize", "join", "lower", "replace", "string", "title", "tojson", "trim", "truncate", "upper"}
    | {"indent", "prettyjson", "quote", "shquote", "strip", "text", "urlencode"}
)
_BOOLEANS = (nodes.Compare, nodes.Not, nodes.Test)


_SIMPLE = re.compile(r"[\w.]+")


@struct(frozen=True)
class _Change:
    """Characters of the template, and what takes their place."""

    start: int
    end: int
    pieces: tuple[Piece, ...]


def expression(hole: Hole, site: Site) -> Expr:
    """The expression of a hole. Raises `UnresolvedError` for the first path in it that can't be resolved."""
    template = hole.template
    assert template is not None
    if template.error is not None or template.expression is None:
        # The check of the core's templates reports the mistake at its place.
        return Expr((Piece(*_inner(template, hole.start)),), level=CHOICE)
    inner, start, end = _inner(template, hole.start)
    [*reads] = template.reads
    is_path = isinstance(template.expression, (nodes.Name, nodes.Getattr, nodes.Getitem))
    if is_path and len(reads) == 1 and len(inner) == reads[0].end - reads[0].start:
        reference = reference_of(reads[0], template.text, hole.start)
        if reference.end == end:
            return site.resolve(reference)
    reads_of: set[str] = set()
    pieces = substituted(template, site, hole.start, reads_of, start - hole.start, end - hole.start)
    return Expr(tuple(pieces), _type_of(template.expression), CHOICE, reads=frozenset(reads_of))


def _inner(template: Template, offset: int) -> tuple[str, int, int]:
    """The text between the braces, and its offsets."""
    text = template.text
    start, end = 2 + text.startswith("{{-"), len(text) - 2 - text.endswith("-}}")
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end -= len(text[start:end]) - len(text[start:end].rstrip())
    return text[start:end], start + offset, end + offset


def _type_of(node: nodes.Expr) -> str:
    if isinstance(node, nodes.Filter):
        return "str" if node.name in _TEXT_FILTERS else "any"
    if isinstance(node, nodes.Concat):
        return "str"
    return "bool" if isinstance(node, _BOOLEANS) else "any"


def substituted(
    template: Template, site: Site, offset: int, reads: set[str], start: int, end: int
) -> Iterator[Piece]:
    """A part of the template with its paths replaced. The state fields that these read are added to `reads`."""
    text, at = template.text, start
    for change in _changes(template, site, offset, reads):
        if at < change.start:
            yield Piece(text[at : change.start], at + offset, change.start + offset)
        yield from change.pieces
        at = change.end
    if at < end:
        yield Piece(text[at:end], at + offset, end + offset)


def _changes(template: Template, site: Site, offset: int, reads: set[str]) -> list[_Change]:
    found = [*_gets(template, site, offset, reads), *_filters(template, offset), *_grown(template, offset)]
    done = {number for change in found for number in range(change.start, change.end)}
    for read in template.reads:
        if read.root in ROOTS and read.start not in done:
            found.append(_path(read, template.text, site, offset, reads))
            found += _short_output(read, template.text, site, offset)
            found += _item_key(read, template, site, offset)
    return sorted(found, key=lambda change: (change.start, change.end))


def _filters(template: Template, offset: int) -> Iterator[_Change]:
    for use in template.filters:
        if use.name in RENAMED:
            place = use.start + offset, use.end + offset
            yield _Change(use.start, use.end, (Piece(RENAMED[use.name], *place),))


def _path(read: Read, text: str, site: Site, offset: int, reads: set[str]) -> _Change:
    reference = reference_of(read, text, offset)
    value = _value(reference, site, read.guarded)
    reads |= value.reads
    end = reference.end - offset
    return _Change(read.start, end, _operand(value, text[end : end + 1]))


def _short_output(read: Read, text: str, site: Site, offset: int) -> Iterator[_Change]:
    """`blocks.b[inputs.key].stdout` is short for `blocks.b[inputs.key].outputs.stdout`."""
    at = _computed_item(read, site)
    if at is None or at + 1 >= len(read.path):
        return
    name = read.path[at + 1].name
    if name is not None and name not in OF_ITEM:
        # Only white space and a quote are between the name and the dot or bracket before it.
        start = len(text[: read.path[at + 1].start].rstrip("'\" \t\r\n")) - 1
        yield _Change(start, start, (Piece(".outputs", start + offset, start + offset),))


def _item_key(read: Read, template: Template, site: Site, offset: int) -> Iterator[_Change]:
    """`blocks.b[inputs.number]` reads the item whose key is the number as text."""
    at = _computed_item(read, site)
    if at is None:
        return
    key = read.path[at]
    for one in template.reads:
        if (one.start, one.end) == (key.start, key.end) and one.root in ROOTS:
            reference = reference_of(one, template.text, offset)
            if reference.end == key.end + offset and _value(reference, site, one.guarded).type == "str":
                return
    is_simple = _SIMPLE.fullmatch(template.text, key.start, key.end) is not None
    for place, text in (
        (key.start, "" if is_simple else "("),
        (key.end, " | text" if is_simple else ") | text"),
    ):
        yield _Change(place, place, (Piece(text, place + offset, place + offset),))


def _computed_item(read: Read, site: Site) -> int | None:
    """The position in the path of the computed key of an item, in the results of a block with `for_each`."""
    at = next((number for number, part in enumerate(read.path) if part.name is None), 0)
    names = [str(part.name) for part in read.path[:at]]
    is_item = read.root == "blocks" and names[1:] in ([], ["blocks"])
    return at if names and is_item and site.is_repeated(names[0]) else None


def _operand(value: Expr, after: str) -> tuple[Piece, ...]:
    """The pieces of a value inside an expression, in brackets where they would not stay together."""
    has_filter = any(" | " in piece.text for piece in value.pieces)
    if value.level == ATOM and has_filter and after and after in ".[(":
        value = Expr(value.pieces, value.type, CHOICE)
    return value.within(ATOM)


def _value(reference: Reference, site: Site, guarded: bool) -> Expr:
    """The value of a path. One that the template itself supplies a default for gets none here."""
    if reference.names == ("inputs",):
        return Expr((Piece("inputs", reference.start, reference.end),), "dict")
    before, site.bare = site.bare, guarded
    try:
        return site.resolve(reference)
    finally:
        site.bare = before


# Objects and lists that a template fills: `{% set _ = found.update({key: value}) %}`. Values of the core never change,
# so such a name becomes a namespace with one field, which is set to a larger value each time.

_FIELD = "value"
_GROWING = {
    "update": (nodes.Dict, "dict({0}, ", ")"),
    "append": (nodes.List, "{0} + [", "]"),
    "extend": (nodes.List, "{0} + (", ")"),
}


@struct(frozen=True)
class _Growth:
    """A statement that adds to a container."""

    target: nodes.Expr
    call: nodes.Call
    receiver: nodes.Name
    method: str


def _grown(template: Template, offset: int) -> Iterator[_Change]:
    assert template.ast is not None
    growths = list(_growths(template.ast))
    begun = _begun(template.ast, growths)

    def change(start: int, end: int, text: str) -> _Change:
        return _Change(start, end, (Piece(text, start + offset, end + offset),))

    receivers = {id(one.receiver) for one in growths}
    for node in template.ast.find_all(nodes.Name):
        if node.name in begun and node.ctx == "load" and id(node) not in receivers:
            end = template.span(node)[1]
            yield change(end, end, f".{_FIELD}")
    for container in (one for containers in begun.values() for one in containers):
        start, end = template.span(container)
        yield change(start, start, f"namespace({_FIELD}=")
        yield change(end, end, ")")
    for one in growths:
        if one.receiver.name in begun:
            _, opening, closing = _GROWING[one.method]
            field = f"{one.receiver.name}.{_FIELD}"
            start, end = template.span(one.call.args[0])
            yield change(template.span(one.target)[0], start, f"{field} = {opening.format(field)}")
            yield change(end, template.span(one.call)[1], closing)


def _growths(ast: nodes.Template) -> Iterator[_Growth]:
    for statement in ast.find_all(nodes.Assign):
        match statement.node:
            case nodes.Call(node=nodes.Getattr(node=nodes.Name() as receiver, attr=method)) as call:
                if method in _GROWING and (len(call.args), len(call.kwargs)) == (1, 0):
                    yield _Growth(statement.target, call, receiver, method)


def _begun(ast: nodes.Template, growths: list[_Growth]) -> dict[str, list[nodes.Node]]:
    """The containers that a template begins, by name, of the names that are never anything else."""
    wanted: dict[str, set[type]] = {}
    for one in growths:
        wanted.setdefault(one.receiver.name, set()).add(_GROWING[one.method][0])
    found: dict[str, list[nodes.Node]] = {name: [] for name in wanted}
    begins: set[int] = set()
    for statement in ast.find_all(nodes.Assign):
        target = statement.target
        if isinstance(target, nodes.Name) and wanted.get(target.name) == {type(statement.node)}:
            found[target.name].append(statement.node)
            begins.add(id(target))
    bound = (node for node in ast.find_all(nodes.Name) if node.ctx != "load" and id(node) not in begins)
    for node in bound:
        found.pop(node.name, None)
    return {name: containers for name, containers in found.items() if containers}


# `get(x, 'name', default)`.


def _gets(template: Template, site: Site, offset: int, reads: set[str]) -> Iterator[_Change]:
    assert template.ast is not None
    for call in template.ast.find_all(nodes.Call):
        if not isinstance(call.node, nodes.Name) or call.node.name != "get" or call.kwargs:
            continue
        yield from _get_of_item(call, template, site, offset)
        read = _target(call, template)
        if read is None or len(call.args) not in (2, 3) or not isinstance(call.args[1], nodes.Const):
            continue
        yield from _get(call, read, template, site, offset, reads)


def _get_of_item(call: nodes.Call, template: Template, site: Site, offset: int) -> Iterator[_Change]:
    """`get(blocks.b[inputs.key], 'stdout')` asks for an output of the item."""
    if len(call.args) < 2 or not isinstance(call.args[1], nodes.Const) or call.args[1].value in OF_ITEM:
        return
    place = template.span(call.args[0])
    for read in template.reads:
        if (read.start, read.end) == place and _computed_item(read, site) == len(read.path) - 1:
            end = read.end + offset
            yield _Change(read.end, read.end, (Piece(".outputs", end, end),))


def _target(call: nodes.Call, template: Template) -> Read | None:
    """The path that `get` is asked about, if that is known whole."""
    if not call.args or not isinstance(call.args[0], (nodes.Name, nodes.Getattr, nodes.Getitem)):
        return None
    place = template.span(call.args[0])
    for read in template.reads:
        is_it = (read.start, read.end) == place and read.root in PATHS
        if is_it and all(part.name is not None and not part.called for part in read.path):
            return read
    return None


def _known(reference: Reference, site: Site) -> Expr | None:
    """The value of a path, unless nothing has its last name. The default of `get` is for that."""
    if reference.names[0] == "inputs" and reference.names[1] not in (site.world.file.inputs or {}):
        return None
    try:
        return _value(reference, site, True)
    except UnresolvedError:
        return None


def _get(
    call: nodes.Call, read: Read, template: Template, site: Site, offset: int, reads: set[str]
) -> Iterator[_Change]:
    key = call.args[1]
    assert isinstance(key, nodes.Const)
    start, end = template.span(call)
    key_start, key_end = template.span(key)
    path = reference_of(read, template.text, offset)
    last = Part(str(key.value), key_start + offset, key_end + offset)
    at = (start + offset, key_end + offset)
    value = _known(Reference((*path.parts, last), path.start, last.end), site)
    opening: tuple[Piece, ...] = (Piece("(", *at),)
    if value is not None:
        reads |= value.reads
        opening = (*opening, *_operand(value, "|"), Piece(" | default(", *at))
    closing = Piece("))" if value is not None else ")", end - 1 + offset, end + offset)
    if len(call.args) == 3:
        # The default is an expression of its own, whose paths are replaced as well.
        comma = template.text.index(",", key_end) + 1
        yield _Change(start, comma, opening)
        yield _Change(end - 1, end, (closing,))
    else:
        yield _Change(start, end, (*opening, *literal(None, *at).pieces, closing))
