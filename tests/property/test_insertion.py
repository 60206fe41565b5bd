"""Inserting a step is a small diff: the lines about it and the edges of its neighbours."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.property.grammar import HELPER, Tree, to_yaml, workflows
from tests.property.survival import CONFIG
from wfc.checker import check_project, has_errors
from wfc.compiler import compile_file
from wfc.project import Project, SourceFile, load_file

FIRST = {"id": "very-first", "type": "shell", "command": "make"}
"""Every workflow has a shell step, so that one more needs no further import."""


@given(workflows(depth=2), st.data())
def test_inserting_a_step_changes_only_the_lines_about_it_and_its_neighbours(
    tree: Tree, data: st.DataObject
) -> None:
    tree["steps"].insert(0, FIRST)
    places = [(number, place) for number, steps in enumerate(_lists(tree)) for place in range(len(steps) + 1)]
    number, place = data.draw(st.sampled_from(places))
    before = _file(tree)
    assume(before is not None)
    _, following = _neighbour(tree, number, place, "inserted-step")
    name = "z" * len(following)  # as long as what comes after it: no line changes its layout
    after, again = _neighbour(tree, number, place, name)
    assert again == following
    removed, added = _difference(_chart(before), _chart(after))
    for line in filter(str.strip, removed):
        assert _is_about(line, following), line
    block = _lines_about(name, _chart(after))
    for line in filter(str.strip, added):
        assert _is_about(line, following) or line in block, line


@given(workflows(depth=2), st.data())
def test_inserting_a_comment_changes_only_the_digest_of_the_source(tree: Tree, data: st.DataObject) -> None:
    text = to_yaml(tree)
    before = _load(text)
    assume(before is not None)
    assert before is not None
    # A comment where a step begins is one in any YAML: no text of several lines goes on there.
    starts = [found.start() for found in re.finditer(r"^ *- id: |\A", text, re.MULTILINE)]
    start = data.draw(st.sampled_from(starts))
    after = _load(f"{text[:start]}# A comment.\n{text[start:]}")
    assert after is not None
    removed, added = _difference(_module(before), _module(after))
    assert [line.partition("sha256:")[0] for line in (*removed, *added)] == ["# wfc-source: "] * 2


def _lists(node: Any) -> Iterator[list[Any]]:
    """Every list of steps in a tree."""
    if isinstance(node, dict):
        for value in node.values():
            yield from _lists(value)
    elif isinstance(node, list) and node and isinstance(node[0], dict) and "id" in node[0]:
        yield node
        for step in node:
            yield from _lists(step)


def _neighbour(tree: Tree, number: int, place: int, name: str) -> tuple[SourceFile, str]:
    """The tree with a step of that name inserted, and the state that comes after it."""
    changed = copy.deepcopy(tree)
    list(_lists(changed))[number].insert(place, {"id": name, "type": "shell", "command": "make more"})
    file = _file(changed)
    assume(file is not None)
    assert file is not None
    assert file.module is not None
    edges = [edge for chart in file.module.charts for edge in chart.edges()]
    ids = {state.id for chart in file.module.charts for state in chart.states() if state.title == name}
    return file, next(edge.target for edge in edges if edge.source in ids)


def _file(tree: Tree) -> SourceFile | None:
    return _load(to_yaml(tree))


def _load(text: str) -> SourceFile | None:
    project = Project(CONFIG)
    file = load_file("w.yaml", text.encode(), CONFIG, project)
    load_file("helper.yaml", HELPER.encode(), CONFIG, project)
    return None if has_errors(check_project(project)) else file


def _chart(file: SourceFile | None) -> list[str]:
    """The module without the two digests of its header."""
    assert file is not None
    return [line for line in _module(file) if not re.match("# wfc-(source|body): ", line)]


def _module(file: SourceFile) -> list[str]:
    return compile_file(file, "w.yaml").text.splitlines()


def _difference(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    removed = [line for _, start, end, _, _ in changes for line in before[start:end]]
    return removed, [line for _, _, _, start, end in changes for line in after[start:end]]


def _is_about(line: str, name: str) -> bool:
    """Names the state, or is a comment that has moved from its own line to the end of the state's, or back."""
    return re.search(rf"\b{name}\b", line) is not None or line.lstrip().startswith("#")


def _lines_about(name: str, lines: list[str]) -> set[str]:
    """The lines that name a state, each with all that its bracket holds."""
    found: set[str] = set()
    closing = ""
    for line in lines:
        if closing or _is_about(line, name):
            found.add(line)
            indent = line[: len(line) - len(line.lstrip())]
            if not closing and line.endswith("("):
                closing = f"{indent})"
            elif closing and line.startswith(closing):
                closing = ""
    return found
