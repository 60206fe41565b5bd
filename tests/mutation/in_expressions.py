"""Mistakes inside `{{ }}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from jinja2 import nodes

from tests.mutation.seeding import Change, Seed, Where, misspell, mistake, put, replace
from wfc.language.steps.base import Step
from wfc.language.steps.foreach import Foreach
from wfc.language.steps.while_ import While
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.yaml import Scalar, Span
from wfc_runtime.expr import TESTS

_HOLE = re.compile(r"\{\{.*?\}\}", re.S)


def texts(file: SourceFile) -> Iterator[tuple[Step, Text]]:
    """Every template that has holes."""
    for step in file.steps:
        for text in step.texts():
            if not text.template.is_literal:
                yield step, text


def each(file: SourceFile, *kinds: type[nodes.Node]) -> Iterator[tuple[Step, Text, nodes.Node]]:
    """Every node of those kinds in every template."""
    for step, text in texts(file):
        if text.template.ast is not None:
            for node in text.template.ast.find_all(kinds):
                yield step, text, node


def _names(file: SourceFile, fits: Callable[[nodes.Getattr], bool]) -> Iterator[Seed]:
    """The name behind a dot, misspelt."""
    for step, text, node in each(file, nodes.Getattr):
        if isinstance(node, nodes.Getattr) and fits(node):
            yield replace(step, text.at(*text.template.token_span(node)), misspell(node.attr))


def _is_of(node: nodes.Getattr, root: str) -> bool:
    return isinstance(node.node, nodes.Name) and node.node.name == root


@mistake(Where.HERE)
def misspell_a_state_field(file: SourceFile) -> Iterator[Seed]:
    yield from _names(file, lambda node: _is_of(node, "state"))


@mistake(Where.HERE)
def misspell_an_input(file: SourceFile) -> Iterator[Seed]:
    yield from _names(file, lambda node: _is_of(node, "inputs"))


@mistake(Where.HERE)
def misspell_a_property(file: SourceFile) -> Iterator[Seed]:
    yield from _names(file, lambda node: not _is_of(node, "state") and not _is_of(node, "inputs"))


@mistake(Where.HERE)
def misspell_an_attribute_of_a_list(file: SourceFile) -> Iterator[Seed]:
    """The text in `map(attribute='name')` and `selectattr('name', ...)`."""
    for step, text, node in each(file, nodes.Filter):
        assert isinstance(node, nodes.Filter)
        found = [pair.value for pair in node.kwargs if pair.key == "attribute"]
        found += node.args[:1] if node.name.endswith("attr") else []
        for name in found:
            if isinstance(name, nodes.Const):
                start, end = text.template.token_span(name)
                yield replace(step, text.at(start + 1, end - 1), misspell(name.value))


@mistake(Where.HERE)
def misspell_a_filter(file: SourceFile) -> Iterator[Seed]:
    for step, text in texts(file):
        for use in text.template.filters:
            yield replace(step, text.at(use.start, use.end), misspell(use.name))


@mistake(Where.HERE)
def misspell_a_test(file: SourceFile) -> Iterator[Seed]:
    for step, text in texts(file):
        for use in text.template.tests:
            if misspell(use.name) not in TESTS:
                yield replace(step, text.at(use.start, use.end), misspell(use.name))


@mistake(Where.HERE)
def misspell_a_function(file: SourceFile) -> Iterator[Seed]:
    for step, text in texts(file):
        for use in text.template.functions:
            yield replace(step, text.at(use.start, use.end), misspell(use.name))


@mistake(Where.HERE)
def misspell_a_bare_name(file: SourceFile) -> Iterator[Seed]:
    """A loop's variable, an earlier key of the same updates, `item`, a function."""
    seen: set[tuple[Step, str]] = set()
    for step, text, node in each(file, nodes.Name):
        if not isinstance(node, nodes.Name) or node.ctx != "load" or node.name in ("state", "inputs"):
            continue
        if (step, node.name) not in seen:
            seen.add((step, node.name))
            yield replace(step, text.at(*text.template.token_span(node)), misspell(node.name))


@mistake(Where.HERE)
def forget_the_state_or_inputs_before_a_name(file: SourceFile) -> Iterator[Seed]:
    seen: set[tuple[Step, str]] = set()
    for step, text in texts(file):
        for read in text.template.reads:
            if read.root in ("state", "inputs") and read.path and (step, read.root) not in seen:
                seen.add((step, read.root))
                span = text.at(read.start, read.path[0].end)
                yield replace(step, span, str(read.path[0].name))


@mistake(Where.HERE)
def compare_with_another_type(file: SourceFile) -> Iterator[Seed]:
    """A number is compared with text, text with a number."""
    for step, text, node in each(file, nodes.Compare):
        if not isinstance(node, nodes.Compare):
            continue
        const = node.ops[0].expr
        if isinstance(const, nodes.Const) and isinstance(const.value, int | str):
            span = text.at(*text.template.token_span(const))
            yield replace(step, span, "17" if isinstance(const.value, str) else "'ok'")


@mistake(Where.HERE)
def compare_with_what_it_never_is(file: SourceFile) -> Iterator[Seed]:
    """A choice, an enum or a status that no one can have answered, misspelt."""
    for step, text, node in each(file, nodes.Compare):
        const = node.ops[0].expr if isinstance(node, nodes.Compare) else None
        if isinstance(const, nodes.Const) and isinstance(const.value, str) and const.value:
            start, end = text.template.token_span(const)
            yield replace(step, text.at(start + 1, end - 1), misspell(const.value))


@mistake(Where.HERE)
def add_text_to_a_number(file: SourceFile) -> Iterator[Seed]:
    for step, text, node in each(file, nodes.Add, nodes.Sub):
        if isinstance(node, nodes.Add | nodes.Sub) and isinstance(node.right, nodes.Const):
            yield replace(step, text.at(*text.template.token_span(node.right)), "'1'")


@mistake(Where.HERE)
def go_through_what_is_no_list(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        node = step.node.get("items") if isinstance(step, Foreach) else None
        if isinstance(node, Scalar):
            for wrong in ("{{ 12 }}", "{{ now().isoformat() }}", "{{ index == 1 }}", "one, two"):
                yield replace(step, node.span, f'"{wrong}"')
    for step, text, loop in each(file, nodes.For):
        if isinstance(loop, nodes.For):
            end = text.template.span(loop.iter)[1]
            yield Seed(
                step.name,
                f"for ... | length ({_said(text, loop.iter)})",
                (put(text.at(end, end), " | length"),),
            )


def _said(text: Text, node: nodes.Node) -> str:
    start, end = text.template.span(node)
    return text.template.text[start:end]


def _conditions(file: SourceFile) -> Iterator[tuple[Step, Scalar]]:
    for step in file.steps:
        for key in ("if", "when"):
            node = step.node.get(key)
            if isinstance(node, Scalar):
                yield step, node


@mistake(Where.HERE)
def forget_the_braces_of_a_condition(file: SourceFile) -> Iterator[Seed]:
    for step, node in _conditions(file):
        yield replace(step, node.span, node.span.text.replace("{{ ", "").replace(" }}", ""))


@mistake(Where.HERE)
def close_the_braces_within_a_condition(file: SourceFile) -> Iterator[Seed]:
    """`{{ a }} and {{ b }}` is text, and so always true."""
    for step, node in _conditions(file):
        for word in (" and ", " or "):
            if word in node.text:
                yield replace(step, node.span, node.span.text.replace(word, f" }}}}{word}{{{{ "))


@mistake(Where.HERE)
def leave_a_condition_constant(file: SourceFile) -> Iterator[Seed]:
    for step, node in _conditions(file):
        if not isinstance(step, While):
            yield replace(step, node.span, '"{{ true }}"')


def _holes(file: SourceFile) -> Iterator[tuple[Step, Span]]:
    """The last hole of each step."""
    for step, text in dict(texts(file)).items():
        *_, last = _HOLE.finditer(text.template.text)
        yield step, text.at(*last.span())


@mistake(Where.STEP)
def leave_braces_open(file: SourceFile) -> Iterator[Seed]:
    for step, span in _holes(file):
        yield Seed(step.name, f"{_short(span)} without its end", (Change(span.end - 2, span.end, ""),))


_REFERENCE = re.compile(r"\{\{ ((?:inputs|state)\.[\w.]+) \}\}")


def _references(file: SourceFile, form: str) -> Iterator[Seed]:
    """Each `{{ inputs.name }}` in another notation."""
    for step, text in texts(file):
        for found in _REFERENCE.finditer(text.template.text):
            yield replace(step, text.at(*found.span()), form % found[1])


@mistake(Where.HERE)
def write_one_brace_instead_of_two(file: SourceFile) -> Iterator[Seed]:
    yield from _references(file, "{ %s }")


@mistake(Where.HERE)
def write_a_reference_as_in_blocks(file: SourceFile) -> Iterator[Seed]:
    yield from _references(file, "${%s}")


@mistake(Where.STEP)
def leave_a_bracket_or_quote_open(file: SourceFile) -> Iterator[Seed]:
    for step, span in _holes(file):
        last = max(span.text.rfind(")"), span.text.rfind("'"), span.text.rfind("]"))
        if last > 0:
            at = span.start + last
            yield Seed(
                step.name, f"{_short(span)} without its last {span.text[last]}", (Change(at, at + 1, ""),)
            )


@mistake(Where.STEP)
def leave_a_block_open(file: SourceFile) -> Iterator[Seed]:
    """No `{% endfor %}` or `{% endif %}`."""
    for step, text in texts(file):
        for end in re.finditer(r"\{%-? *end\w+ *-?%\}", text.template.text):
            span = text.at(*end.span())
            yield Seed(step.name, f"no {end[0]}", (put(span, ""),))


def _short(span: Span) -> str:
    return " ".join(span.text.split())[:60]


@mistake(Where.STEP)
def forget_a_fallback(file: SourceFile) -> Iterator[Seed]:
    """`| default(...)` for a value that may be missing or null."""
    for step, text, node in each(file, nodes.Filter):
        assert isinstance(node, nodes.Filter)
        if node.name == "default" and node.node is not None:
            start, end = text.template.span(node.node)[1], text.template.span(node)[1]
            # The span of an expression ends before the bracket that closes it.
            start = text.template.text.rindex("|", start, text.template.token_span(node)[0])
            yield replace(step, text.at(start, end), "")
