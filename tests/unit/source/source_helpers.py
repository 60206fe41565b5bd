"""Short ways to parse a text and to look at what came out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.yaml import Document, Mapping, Node, Problem, Scalar, Sequence, Source, YamlLimits, parse_document

BREAKS = ("\n", "\r\n", "\r", "\x85")


def parse(text: str, **limits: int) -> Document:
    return parse_document(Source("flow.yaml", text), YamlLimits(**limits))


def root_of(text: str) -> Node:
    document = parse(text)
    assert document.problems == []
    assert document.root is not None
    return document.root


def value_of(text: str, *path: str | int) -> Node:
    node = root_of(text)
    for step in path:
        if isinstance(step, int):
            assert isinstance(node, Sequence)
            node = node.items[step]
        else:
            assert isinstance(node, Mapping)
            found = node.get(step)
            assert found is not None, step
            node = found
    return node


def scalar_of(text: str, *path: str | int) -> Scalar:
    node = value_of(text, *path)
    assert isinstance(node, Scalar)
    return node


def plain(node: Node | None) -> Any:
    """The tree as lists, dicts and values."""
    if isinstance(node, Mapping):
        return {entry.key.text: plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return node.value if node else None


def walk(node: Node | None) -> Iterator[Node]:
    if node is None:
        return
    yield node
    if isinstance(node, Sequence):
        for item in node.items:
            yield from walk(item)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield from walk(entry.key)
            yield from walk(entry.value)


def scalars(node: Node | None) -> Iterator[Scalar]:
    return (found for found in walk(node) if isinstance(found, Scalar))


def problem_of(text: str, **limits: int) -> Problem:
    problems = parse(text, **limits).problems
    assert len(problems) == 1, problems
    return problems[0]


def brief(problem: Problem) -> tuple[int, int, str, str]:
    """Line, column, what is underlined and why."""
    return problem.span.line, problem.span.column, problem.span.text, problem.message


def assert_located(scalar: Scalar) -> None:
    """Every character of the text is found in the file: as itself, as an escape, or as the break it folds."""
    previous = scalar.span.start
    for index, character in enumerate(scalar.text):
        span = scalar.at(index, index + 1)
        assert span.start >= previous, (scalar, index)
        assert stands_for(span.text, character, scalar.style), (scalar, index, span.text)
        previous = span.end
    whole = scalar.at(0, len(scalar.text))
    if scalar.text:
        assert whole.start == scalar.at(0, 1).start
        assert whole.end == previous


def stands_for(written: str, character: str, style: str) -> bool:
    if written == character:
        return True
    if character in " \n" and written in BREAKS:
        return True
    if style == "'":
        return written == "''"
    if style == '"' and written.startswith("\\"):
        return scalar_of(f'"{written}"').text == character
    return False
