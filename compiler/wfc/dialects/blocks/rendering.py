"""The templates of RenderTemplate blocks: what is wrong with them, and which names they read that nobody gives them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jinja2 import Environment, TemplateSyntaxError, meta, nodes

from wfc.dialects.blocks.graph import BlockNode
from wfc.dialects.blocks.references import find_references
from wfc.dialects.blocks.reports import Reports
from wfc.findings import Severity
from wfc.suggest import did_you_mean
from wfc.yaml import Mapping, Scalar
from wfc_runtime.expr import TEXT_LIMITS, mistake_in
from wfc_runtime.expr.registry import FUNCTIONS

_JINJA = Environment(keep_trailing_newline=True, optimized=False)
_FORGIVING_FILTERS = ("default", "d")
_FORGIVING_TESTS = ("defined", "undefined")


def check_template(node: BlockNode, reports: Reports) -> None:
    """A template that can't be rendered makes the block crash when it runs, as does a name that nobody gives it."""
    inputs = node.block.node.get("inputs")
    template = inputs.get("template") if isinstance(inputs, Mapping) else None
    given = inputs.get("variables") if isinstance(inputs, Mapping) else None
    strict = inputs.get("strict") if isinstance(inputs, Mapping) else None
    is_strict = strict is None or (isinstance(strict, Scalar) and strict.value is True)
    if not isinstance(template, Scalar) or any(find_references(template.text)):
        return  # What those bring may be part of the template.
    mistake = mistake_in(template.text, TEXT_LIMITS)
    if mistake is not None:
        place = template.at(mistake.start or 0, mistake.end or 0)
        help_ = "a template that can't be rendered makes the block crash"
        reports.add("WF201", place, mistake.message, help_, step=node.name)
    if mistake is not None or isinstance(given, Scalar) or not is_strict:
        return
    known = [entry.key.text for entry in given.entries] if isinstance(given, Mapping) else []
    for name, start in _unknown(template.text, known):
        reports.add(
            "WF202",
            template.at(start, start + len(name)),
            f"the template reads `{name}`, which is not among the variables: the block will crash",
            did_you_mean(name, known),
            step=node.name,
            severity=Severity.WARNING,
        )


def _unknown(text: str, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """Names that a template reads and nobody gives it, each with its first place."""
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
    """Names that may be missing: something is said for that case."""
    for found in tree.find_all((nodes.Filter, nodes.Test)):
        words = _FORGIVING_FILTERS if isinstance(found, nodes.Filter) else _FORGIVING_TESTS
        if found.name in words and found.node is not None:
            yield from (
                name.name
                for name in [found.node, *found.node.find_all(nodes.Name)]
                if isinstance(name, nodes.Name)
            )
