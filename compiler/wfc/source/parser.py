"""Text to a located tree, with every problem that can be told apart in one reading."""

from __future__ import annotations

from bisect import insort

from yaml import YAMLError

from wfc.source import events
from wfc.source.builder import ReadingEndedError, TreeBuilder
from wfc.source.failures import Failure
from wfc.source.limits import MAX_PROBLEMS, YamlLimits
from wfc.source.nodes import Document, Problem
from wfc.source.reader import find_forbidden_characters
from wfc.source.syntax_errors import explain
from wfc.source.templates import BareTemplateError, find_bare_template, mask, span_of, to_problem
from wfc.source.text import Source

__all__ = ["YamlLimits", "parse_document"]

_REREADING_BUDGET = 1_000_000
"""Characters that may be read again because of unquoted templates, of which each costs one more reading."""


def parse_document(source: Source, limits: YamlLimits) -> Document:
    """The tree of a file. It has no root if the file is empty, or too broken for its tree to be trusted."""
    problems = find_forbidden_characters(source)
    if problems:
        return Document(None, problems)
    text = source.text
    templates: list[int] = []
    budget = _REREADING_BUDGET
    while budget > 0:
        builder = TreeBuilder(source, limits, templates)
        try:
            _read(text, builder)
        except ReadingEndedError:
            pass
        except BareTemplateError as template:
            span = span_of(source, template)
            problems.append(to_problem(span))
            insort(templates, span.start)
            text = mask(text, span)
            budget -= span.end + len(text) // 10  # copying the rest costs a tenth of reading it
            continue
        return Document(builder.root, _in_order(problems + builder.problems))
    return Document(None, _in_order(problems))


def _read(text: str, builder: TreeBuilder) -> None:
    next_event = events.open_events(text)
    handlers = builder.handlers
    while True:
        try:
            event = next_event()
        except (YAMLError, ValueError, OverflowError) as error:
            # The last two: escapes that are no characters, in tags (libyaml) or quotes (PyYAML's own parser)
            _give_up(error, text, builder)
            return
        if event is None:
            return
        handlers[type(event)](event)


def _give_up(error: Exception, text: str, builder: TreeBuilder) -> None:
    failure = Failure.of(error, builder.source, builder.end, builder.last, builder.bracket)
    template = find_bare_template(text, builder.end, failure.at, failure.bracket is not None)
    if template is not None:
        raise template
    builder.failed = True
    builder.problems.append(explain(failure))


def _in_order(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.span.start)[:MAX_PROBLEMS]
