"""Checks that only this dialect can make."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise

from jinja2 import Environment, TemplateSyntaxError, meta, nodes

from wfc.dialects.base import Piece
from wfc.dialects.blocks.conditions import (
    ConditionNode,
    Reference,
    references,
    to_expression,
)
from wfc.dialects.blocks.expressions import Expr
from wfc.dialects.blocks.file import Block, BlocksFile
from wfc.dialects.blocks.graph import BlockNode, Graph, Wait
from wfc.dialects.blocks.kinds import is_template_text, kind_of, scalars_in
from wfc.dialects.blocks.notation import BRACES, DOLLAR, Hole, Notation
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.results import Site, UnresolvedError
from wfc.findings import Edit, Fix, Note, Severity
from wfc.language.values import Word
from wfc.struct import replace
from wfc.suggest import did_you_mean
from wfc.yaml import Mapping, Scalar, Span
from wfc_runtime.expr import TEXT_LIMITS, mistake_in
from wfc_runtime.expr.builtins import FUNCTIONS

# The graph: unknown, repeated and circular dependencies.

_SHOWN = 8


def without_repeated(blocks: list[Block], reports: Reports) -> Iterator[Block]:
    """The blocks, without those whose id an earlier one has."""
    first: dict[str, Word] = {}
    for block in blocks:
        earlier = first.setdefault(block.id.text, block.id) if block.id else None
        if block.id is None or earlier is block.id:
            yield block
        elif earlier is not None:
            message = f"two blocks have the id `{block.id.text}`"
            notes = (Note("first defined here", earlier.span),)
            reports.add(
                "WF101", block.id.span, message, "rename one of them", notes=notes, step=block.id.text
            )


def check_defaults(file: BlocksFile, notation: Notation, reports: Reports) -> None:
    """Report references in defaults, which are not evaluated. Only `{{tmp}}` is, alone or in a text."""
    for declared in (file.inputs or {}).values():
        for scalar in scalars_in(declared.default.node if declared.default else None):
            for found in notation.holes(scalar.text) if isinstance(scalar.value, str) else ():
                if [one.names for one in found.references] == [("tmp",)]:
                    continue
                reports.add(
                    "WF202",
                    scalar.at(found.start, found.end),
                    f"references in a default are not evaluated: `{scalar.text[found.start : found.end]}` is only text",
                    "pass the value when starting a run, or build it in the block that needs it",
                    severity=Severity.WARNING,
                )


def check_graph(graph: Graph, reports: Reports) -> None:
    for node in graph.all:
        _check_waits(node, graph, reports)
    for circle in graph.circles:
        _report_circle(circle, graph, reports)


def _check_waits(node: BlockNode, graph: Graph, reports: Reports) -> None:
    seen: dict[str, Wait] = {}
    for wait in node.waits:
        if wait.block not in graph.nodes:
            message = f"there is no block `{wait.block}` to wait for"
            reports.add("WF112", wait.span, message, did_you_mean(wait.block, graph.nodes), step=node.name)
        elif wait.block in seen:
            message = f"`{node.name}` waits for `{wait.block}` twice"
            notes = (Note("first listed here", seen[wait.block].span),)
            reports.add("WF112", wait.span, message, "remove one of them", notes=notes, step=node.name)
        seen.setdefault(wait.block, wait)


def _report_circle(circle: list[str], graph: Graph, reports: Reports) -> None:
    ways = list(pairwise(circle))
    waits = [next(one for one in graph.nodes[name].waits if one.block == other) for name, other in ways]
    names = circle if len(circle) <= _SHOWN else [*circle[: _SHOWN - 2], "...", circle[-1]]
    message = f"`{circle[0]}` waits for itself" + (f": {' -> '.join(names)}" if len(ways) > 1 else "")
    notes = tuple(
        Note(f"`{name}` waits for `{other}`", wait.span)
        for (name, other), wait in list(zip(ways, waits, strict=True))[1:_SHOWN]
    )
    reports.add(
        "WF409", waits[0].span, message, "remove one of these dependencies", notes=notes, step=circle[0]
    )


# The notation of a file, and references in the other one.

_OF_BOTH = ("inputs", "blocks", "metadata")
_ALL_IN_BRACES = "write all references in double braces: `wfc convert FILE --to blocks --notation braces`"
_GITHUB = re.compile(r"\$\{\{-?\s*(inputs|blocks)\.(\w+)")


def notation_of(file: BlocksFile) -> Notation:
    """The notation in which most references of a file are written."""
    texts = list(texts_of(file))
    in_braces, in_dollars = (
        sum(len(list(_of(one, scalar))) for _, scalar in texts) for one in (BRACES, DOLLAR)
    )
    return BRACES if in_braces and in_braces >= in_dollars else DOLLAR


def _of(notation: Notation, scalar: Scalar) -> Iterator[Hole]:
    """The references of a text, as its author sees them. Paths that begin otherwise belong to another tool."""
    template = notation.statements(scalar.text)
    if template is not None:
        yield Hole(0, len(scalar.text), tuple(notation.references(scalar.text)), template)
        return
    for hole in notation.holes(scalar.text):
        if notation is BRACES or hole.references[0].names[0] in _OF_BOTH:
            yield hole


def check_notation(file: BlocksFile, notation: Notation, reports: Reports) -> None:
    """Report references in the other notation, which would stay in the text."""
    other = DOLLAR if notation is BRACES else BRACES
    for block, scalar in texts_of(file):
        step = block.id.text if block and block.id else None
        found = list(_of(other, scalar))
        for hole in found:
            text = scalar.text[hole.start : hole.end]
            fix = _rewritten(scalar, found, notation) if hole is found[0] else None
            written = notation.written(hole.references[0].path) if hole.references else ""
            can_be = _is_path(hole) and written
            reports.add(
                "WF219",
                scalar.at(hole.start, hole.end),
                f"two notations in one file: `{' '.join(text.split())[:60]}` would stay text",
                f"the other references are in the other notation: write `{written}`"
                if can_be
                else _ALL_IN_BRACES,
                step=step,
                severity=Severity.ERROR,
                fix=fix,
            )
        _check_github(scalar, file, notation, step, reports)


def _is_path(hole: Hole) -> bool:
    """Whether it is one path and nothing else, so that both notations can write it."""
    if len(hole.references) != 1:
        return False
    [reference] = hole.references
    text = hole.template.text if hole.template else ""
    is_plain = all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in reference.names)
    return is_plain and (not text or text.strip("{}- ") == reference.path)


def _rewritten(scalar: Scalar, holes: list[Hole], notation: Notation) -> Fix | None:
    """A fix that writes the references of a text in the notation of the file."""
    if not all(map(_is_path, holes)):
        return None
    edits = rewrite(scalar, [(one.start, one.end, notation.written(one.references[0].path)) for one in holes])
    return Fix("write the references in the notation of the file", tuple(edits), safe=True)


_ESCAPED: dict[str, Callable[[str], str]] = {
    "'": lambda text: text.replace("'", "''"),
    '"': lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
}
"""How characters are written in a text with quotes."""


def rewrite(scalar: Scalar, changes: list[tuple[int, int, str]]) -> Iterator[Edit]:
    """The edits of a file that change parts of a text. A text without quotes gets them: braces would be a mapping."""
    if scalar.style:
        escape = _ESCAPED.get(scalar.style, str)
        yield from (Edit(scalar.at(start, end), escape(text)) for start, end, text in changes)
        return
    text = scalar.text
    for start, end, new in reversed(changes):
        text = text[:start] + new + text[end:]
    yield Edit(scalar.span, json.dumps(text, ensure_ascii=False))


def _check_github(
    scalar: Scalar, file: BlocksFile, notation: Notation, step: str | None, reports: Reports
) -> None:
    """Report `${{ inputs.name }}` with a name of this file. It is GitHub's notation, and may be meant as text."""
    names = {"inputs": set(file.inputs or {}), "blocks": {one.id.text for one in file.blocks or [] if one.id}}
    for found in _GITHUB.finditer(scalar.text):
        if found[2] in names[found[1]]:
            reports.add(
                "WF219",
                scalar.at(*found.span()),
                f"reference not replaced: `{found[0]}...}}}}` is GitHub's notation, and plain text here",
                f"a reference is written `{notation.written(f'{found[1]}.{found[2]}')}`",
                step=step,
                severity=Severity.WARNING,
            )


def texts_of(file: BlocksFile) -> Iterator[tuple[Block | None, Scalar]]:
    """Every text that may have references, with its block."""
    for block in file.blocks or []:
        kind = kind_of(block.node)
        inputs = block.node.get("inputs")
        if isinstance(inputs, Mapping) and kind is not None:
            # The `template` of RenderTemplate is a Jinja template, with variables of its own.
            inputs = replace(
                inputs, entries=[one for one in inputs.entries if not is_template_text(one, kind)]
            )
        for node in (inputs, *(block.node.get(key) for key in ("condition", "outputs", "for_each"))):
            yield from ((block, one) for one in scalars_in(node) if isinstance(one.value, str))
    for node in (file.node.get("outputs"), file.node.get("inputs")):
        yield from ((None, one) for one in scalars_in(node) if isinstance(one.value, str))


# Templates of RenderTemplate blocks: mistakes in them, and names that nothing provides.

_JINJA = Environment(keep_trailing_newline=True, optimized=False)
_FORGIVING_FILTERS = ("default", "d")
_FORGIVING_TESTS = ("defined", "undefined")


def check_template(node: BlockNode, notation: Notation, reports: Reports) -> None:
    """Report syntax errors and undefined variables of a template, which would make the block crash."""
    inputs = node.block.node.get("inputs")
    template = inputs.get("template") if isinstance(inputs, Mapping) else None
    given = inputs.get("variables") if isinstance(inputs, Mapping) else None
    strict = inputs.get("strict") if isinstance(inputs, Mapping) else None
    is_strict = strict is None or (isinstance(strict, Scalar) and strict.value is True)
    if not isinstance(template, Scalar) or (notation is DOLLAR and notation.holes(template.text)):
        return  # Their values become part of the template.
    mistake = mistake_in(template.text, TEXT_LIMITS)
    if mistake is not None:
        place = template.at(mistake.start or 0, mistake.end or 0)
        help_ = "the block crashes if its template can't be rendered"
        reports.add("WF201", place, mistake.message, help_, step=node.name)
    if mistake is not None or isinstance(given, Scalar) or not is_strict:
        return
    known = [entry.key.text for entry in given.entries] if isinstance(given, Mapping) else []
    for name, start in _unknown(template.text, known):
        reports.add(
            "WF202",
            template.at(start, start + len(name)),
            f"undefined variable `{name}` in the template: the block will crash",
            did_you_mean(name, known),
            step=node.name,
            severity=Severity.WARNING,
        )


def _unknown(text: str, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """The undefined variables of a template, each with its first offset."""
    try:
        tree = _JINJA.parse(text)
    except (TemplateSyntaxError, RecursionError):
        return
    missing = meta.find_undeclared_variables(tree) - set(known) - FUNCTIONS.keys() - set(_excused(tree))
    at, before = 0, ""
    for _, kind, value in _JINJA.lex(text):
        if kind == "name" and value in missing and before != ".":
            missing.discard(value)
            yield value, at
        at += len(value)
        before = value.strip() or before


def _excused(tree: nodes.Template) -> Iterator[str]:
    """Variables that may be undefined, since a filter or test handles that."""
    for found in tree.find_all((nodes.Filter, nodes.Test)):
        words = _FORGIVING_FILTERS if isinstance(found, nodes.Filter) else _FORGIVING_TESTS
        if found.name in words and found.node is not None:
            yield from (
                name.name
                for name in [found.node, *found.node.find_all(nodes.Name)]
                if isinstance(name, nodes.Name)
            )


# Conditions about the failure or skipping of a block, on a block that never runs in that case.

_NEVER = ("pending", "running", "paused")
"""States that no other block can observe."""
_CRASHED = ("failed",)


def check_unseen(
    node: BlockNode, origin: Scalar, site: Site, reports: Reports, never_runs: bool
) -> Span | None:
    """Report parts of a condition that can't hold; if the block never runs, only the first. Returns its span."""
    first: Span | None = None
    for part, is_wanted in _parts(node.condition) if node.condition else ():
        # `not (a.succeeded and b.succeeded)` is fine if it can hold, even if one part of it is constant.
        told = _told(part, is_wanted, node, site) if is_wanted or never_runs else None
        if told is None or (first and never_runs):
            continue
        place = origin.at(part.start, part.end)
        first = first or place
        what, why, help_, fix = told
        so = ", so the block never runs" if never_runs else ""
        message = f"`{origin.text[part.start : part.end]}` {what}{so}: {why}"
        reports.add("WF210", place, message, help_, step=node.name, fix=fix)
    return first


Told = tuple[str, str, str, Fix | None]


def _told(part: ConditionNode, is_wanted: bool, node: BlockNode, site: Site) -> Told | None:
    asked = [one for one in references(part) if _block(one, site) is not None]
    if not asked:
        return None
    name = asked[0].names[1]
    if is_wanted and _asks_for_status(part, _NEVER):
        help_ = "it is `completed`, `failed` or `skipped`"
        return "is never true", f"`{name}` has ended before this block starts", help_, None
    if is_wanted and _asks_for_status(part, _CRASHED):
        return "is never true here", _why(name, node), *_remedy(name, node)
    known, unknown = _value(part, site), _value(part, Site(site.world, node))
    if known is None or not known.is_constant or unknown is None:
        return None
    if known.constant is not is_wanted and not unknown.is_constant:
        return f"is never {'true' if is_wanted else 'false'} here", _why(name, node), *_remedy(name, node)
    can_fail = site.world.graph.nodes[name].can_fail
    if known.constant and is_wanted and can_fail and any(one.names[-1] == "status" for one in asked):
        return "is always true here", _why(name, node), *_remedy(name, node)
    return None


def _parts(node: ConditionNode, is_wanted: bool = True) -> Iterator[tuple[ConditionNode, bool]]:
    """The comparisons and tests of a condition, each with the value that it must have."""
    if node.word in ("and", "or", "not"):
        for operand in node.operands:
            yield from _parts(operand, is_wanted is not (node.word == "not"))
    else:
        yield node, is_wanted


def _block(reference: Reference, site: Site) -> BlockNode | None:
    """The block that a reference reads, if it has certainly succeeded."""
    names = reference.names
    found = site.world.graph.nodes.get(names[1]) if len(names) > 2 and names[0] == "blocks" else None
    return found if found is not None and found.kind is not None and site.has_succeeded(found) else None


def _asks_for_status(part: ConditionNode, words: tuple[str, ...]) -> bool:
    values = [one.value for one in part.operands if one.word == "value"]
    paths = [one.reference for one in part.operands if one.reference is not None]
    is_status = bool(paths) and paths[0].names[-1] == "status"
    return (
        is_status and [word.text for word in part.words] == ["=="] and values[:1] in [[one] for one in words]
    )


def _value(part: ConditionNode, site: Site) -> Expr | None:
    try:
        return to_expression(part, site.resolve, lambda one: Expr((Piece("none", one.start, one.end),)))
    except UnresolvedError:  # Reported where the reference is resolved.
        return None


def _why(name: str, node: BlockNode) -> str:
    wait = _wait(name, node)
    if wait is None:
        return f"this block runs only if `{name}` succeeded, since a block that it waits for requires that"
    return f"`{name}` is required, so this block runs only if it succeeded"


def _remedy(name: str, node: BlockNode) -> tuple[str, Fix | None]:
    wait = _wait(name, node)
    if wait is None:
        return "use `required: false` in the `depends_on` that requires it", None
    text = f"{{block: {name}, required: false}}"
    fix = Fix(f"only wait for `{name}`", (Edit(wait.span, text),), safe=False) if wait.is_plain else None
    return f"to run also after a failure, write `{text}` in `depends_on`, which only waits", fix


def _wait(name: str, node: BlockNode) -> Wait | None:
    return next((wait for wait in node.waits if wait.block == name and wait.required), None)
