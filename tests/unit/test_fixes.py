"""Fixes: edits of the author's text that leave everything else alone."""

from __future__ import annotations

from typing import SupportsIndex

import pytest

from tests.support import W, file_of
from wfc.findings import Diagnostic, Edit, Fix, Severity
from wfc.fixes import Checked, Group, apply, candidates
from wfc.rules.common.edits import add_entry, remove_entry, remove_items, rename, whole_lines
from wfc.yaml import Mapping, Scalar, Sequence, Source, YamlLimits, parse_document

TEXT = "one two three four"


def finding(source: Source, *edits: tuple[int, int, str], safe: bool = True) -> Diagnostic:
    fix = Fix("mend", tuple(Edit(source.span(start, end), text) for start, end, text in edits), safe)
    return Diagnostic("WF999", "test", Severity.ERROR, "wrong", source.start, fix=fix)


def applied(text: str, found: list[Diagnostic], *, unsafe: bool = False) -> tuple[str, int]:
    """The text with the fixes that are tried at once, and how many findings those settle."""
    checked = {W: Checked(file_of("steps: []"), found)}
    chosen = [one for group in Group for one in candidates(checked, [W], group, unsafe=unsafe)]
    changes = [change for one in chosen for change in one.changes]
    return apply(text, changes), sum(len(one.findings) for one in chosen)


def fixed(text: str, *changes: list[tuple[int, int, str]]) -> tuple[str, int]:
    source = Source("w.yaml", text)
    return applied(text, [finding(source, *edits) for edits in changes])


def test_edits_are_applied_by_place_whatever_their_order() -> None:
    assert fixed(TEXT, [(8, 13, "3")], [(0, 3, "1")]) == ("1 two 3 four", 2)


def test_all_edits_of_one_fix_are_applied_together() -> None:
    assert fixed(TEXT, [(0, 3, "1"), (18, 18, "!")]) == ("1 two three four!", 1)


def test_a_fix_that_overlaps_an_earlier_one_waits_for_the_next_round() -> None:
    assert fixed(TEXT, [(0, 7, "12")], [(4, 13, "23")]) == ("12 three four", 1)


def test_a_fix_with_one_overlapping_edit_is_left_out_as_a_whole() -> None:
    assert fixed(TEXT, [(0, 3, "1")], [(1, 2, "x"), (8, 13, "3")]) == ("1 two three four", 1)


def test_an_edit_inside_and_one_around_a_chosen_one_both_overlap() -> None:
    assert fixed(TEXT, [(4, 7, "2")], [(5, 6, "x")], [(0, 18, "all")]) == ("one 2 three four", 1)


def test_two_insertions_at_one_place_are_not_made_at_once() -> None:
    assert fixed(TEXT, [(3, 3, "!")], [(3, 3, "?")]) == ("one! two three four", 1)


def test_edits_that_only_touch_do_not_overlap() -> None:
    assert fixed(TEXT, [(0, 4, "")], [(4, 7, "2")], [(7, 7, ";")]) == ("2; three four", 3)


def test_findings_with_the_same_fix_are_settled_together_by_one_edit() -> None:
    assert fixed(TEXT, [(3, 3, "!")], [(3, 3, "!")]) == ("one! two three four", 2)


def test_unsafe_fixes_are_applied_only_when_asked_for() -> None:
    source = Source("w.yaml", TEXT)
    found = [finding(source, (0, 3, "1"), safe=False)]
    assert applied(TEXT, found) == (TEXT, 0)
    assert applied(TEXT, found, unsafe=True) == ("1 two three four", 1)


def test_a_fix_that_reaches_into_another_file_is_left_alone() -> None:
    here, there = Source("a.yaml", TEXT), Source("b.yaml", TEXT)
    found = Diagnostic(
        "WF999", "test", Severity.ERROR, "wrong", here.start, fix=finding(there, (0, 3, "1")).fix
    )
    assert applied(TEXT, [found], unsafe=True) == (TEXT, 0)


class Sliced(str):
    """A text that counts the characters that are copied out of it."""

    copied = 0

    def __getitem__(self, part: SupportsIndex | slice) -> str:
        taken = super().__getitem__(part)
        self.copied += len(taken)
        return taken


def test_thousands_of_fixes_copy_the_text_once() -> None:
    text = Sliced("word " * 20_000)
    source = Source("w.yaml", text)
    found = [finding(source, (at, at + 4, "x")) for at in range(0, len(text), 5)]
    text.copied = 0
    assert applied(text, found) == ("x " * 20_000, 20_000)
    assert text.copied <= len(text)


# -- what fixes are made of --------------------------------------------------


def tree(text: str) -> Mapping:
    root = parse_document(Source("w.yaml", text), YamlLimits()).root
    assert isinstance(root, Mapping)
    return root


def without(text: str, key: str, inside: Mapping | None = None) -> str | None:
    mapping = inside or tree(text)
    entry = mapping.entry(key)
    assert entry is not None
    fix = remove_entry(mapping, entry, "remove it")
    return rewritten(text, fix.edits) if fix else None


def rewritten(text: str, edits: tuple[Edit, ...]) -> str:
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\nb: 2\nc: 3\n", "a: 1\nc: 3\n"),
        ("a: 1\nb: 2  # why\n# next\nc: 3\n", "a: 1\n# next\nc: 3\n"),
        ("a: 1\nb: |\n  x\n\n  y\n\nc: 3\n", "a: 1\n\nc: 3\n"),
        ("a: 1\nb:\n  - x\n  - y: z\nc: 3\n", "a: 1\nc: 3\n"),
        ("a: 1\nb: 2", "a: 1\n"),
        ("a: 1\r\nb: 2\r\nc: 3\r\n", "a: 1\r\nc: 3\r\n"),
        ("a: 1\nb:\nc: 3\n", "a: 1\nc: 3\n"),
        ("a: 1\n'b': 2\n", "a: 1\n"),
        ("{a: 1, b: 2, c: 3}\n", "{a: 1, c: 3}\n"),
        ("{b: 2, c: 3}\n", "{c: 3}\n"),
        ("{a: 1, b: 2}\n", "{a: 1}\n"),
        ("{a: 1, b}\n", "{a: 1}\n"),
        ("{a: 1, b: }\n", "{a: 1 }\n"),
        ("{b: , a: 1}\n", "{a: 1}\n"),
        ("{a: 1,\n b: [x, y],\n c: 3}\n", "{a: 1,\n c: 3}\n"),
        ("{a: 1,\n b: 2}\n", "{a: 1}\n"),
    ],
)
def test_an_entry_is_removed_with_its_lines_and_nothing_else(before: str, after: str) -> None:
    assert without(before, "b") == after
    assert "b" not in {entry.key.text for entry in tree(after).entries}


def test_the_first_entry_of_a_list_item_leaves_its_dash() -> None:
    text = "steps:\n  - b: 2\n    a: 1\n"
    steps = tree(text).get("steps")
    assert isinstance(steps, Sequence)
    item = steps.items[0]
    assert isinstance(item, Mapping)
    assert without(text, "b", item) == "steps:\n  - a: 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "b: 2\n",  # nothing would be left of the mapping
        "base: &x 1\na: 1\nb: *x\n",  # the value stands elsewhere
        "a: 1\nb: &x 2\nc: *x\n",  # something else refers to it
        "a: 1\n? b\n: 2\n",  # the question mark would stay
        "{a: 1, # why\n b: 2}\n",  # the comment would swallow the bracket's comma
    ],
)
def test_an_entry_that_cannot_be_removed_surely_is_left(text: str) -> None:
    assert without(text, "b") is None


def test_a_merged_entry_is_not_removed_at_its_anchor() -> None:
    text = "base: &x {b: 2, c: 3}\nother:\n  <<: *x\n  a: 1\n"
    other = tree(text).get("other")
    assert isinstance(other, Mapping)
    assert without(text, "b", other) is None


@pytest.mark.parametrize(
    ("before", "unwanted", "after"),
    [
        ("x: [a, b, c]\n", [1], "x: [a, c]\n"),
        ("x: [a, 'b', \"c\"]  # why\n", [0], "x: ['b', \"c\"]  # why\n"),
        ("x: [a]\n", [0], "x: []\n"),
        ("x:\n  - a\n  - b  # why\n  - c\n", [1], "x:\n  - a\n  - c\n"),
        ("x:\n- a\n- b\n- c\n", [0, 2], "x:\n- b\n"),
    ],
)
def test_items_are_removed_from_both_kinds_of_list(before: str, unwanted: list[int], after: str) -> None:
    items = tree(before).get("x")
    assert isinstance(items, Sequence)
    fix = remove_items(items, unwanted, "remove it")
    assert fix is not None
    assert rewritten(before, fix.edits) == after


@pytest.mark.parametrize("text", ["x:\n  - a\n", "x: [a, # why\n  b]\n", "y: &n a\nx: [*n, b]\n"])
def test_items_that_cannot_be_removed_surely_are_left(text: str) -> None:
    items = tree(text).get("x")
    assert isinstance(items, Sequence)
    assert remove_items(items, [0], "remove it") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\nb: 2\n", "a: 1\nnew: 3\nb: 2\n"),
        ("a: 1  # why\nb: 2\n", "a: 1  # why\nnew: 3\nb: 2\n"),
        ("a: |\n  text\nb: 2\n", "a: |\n  text\nnew: 3\nb: 2\n"),
        ("a: 1\r\nb: 2\r\n", "a: 1\r\nnew: 3\r\nb: 2\r\n"),
        ("a: 1", "a: 1\nnew: 3"),
        ("{a: 1, b: 2}", "{a: 1, new: 3, b: 2}"),
        ("{a, b: 2}", "{a, new: 3, b: 2}"),
    ],
)
def test_an_entry_is_added_behind_another(before: str, after: str) -> None:
    mapping = tree(before)
    edit = add_entry(mapping, mapping.entries[0], "new: 3")
    assert edit is not None
    assert rewritten(before, (edit,)) == after
    assert [entry.key.text for entry in tree(after).entries][:2] == ["a", "new"]


@pytest.mark.parametrize("text", ["{a: , b: 2}", "base: &x 1\na: *x\n"])
def test_an_entry_is_not_added_where_it_would_not_be_one(text: str) -> None:
    mapping = tree(text)
    entry = mapping.entry("a")
    assert entry is not None
    assert add_entry(mapping, entry, "new: 3") is None


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ("a: old", "new", "a: new"),
        ("a: 'old'", "new", "a: 'new'"),
        ('a: "old"', "new", 'a: "new"'),
        ("a: old", "12", 'a: "12"'),
        ("a: old", "two words", 'a: "two words"'),
    ],
)
def test_a_name_is_replaced_in_the_quotes_it_has(before: str, name: str, after: str) -> None:
    node = tree(before).get("a")
    assert isinstance(node, Scalar)
    fix = rename(node, name, "rename it")
    assert fix is not None
    assert rewritten(before, fix.edits) == after


def test_a_name_in_a_block_of_text_is_not_replaced() -> None:
    node = tree("a: |\n  old\n").get("a")
    assert isinstance(node, Scalar)
    assert rename(node, "new", "rename it") is None


def test_whole_lines_are_none_when_something_else_stands_on_them() -> None:
    source = Source("w.yaml", "a: 1\n- b: 2\n")
    assert whole_lines(source.span(7, 8), source.span(10, 11)) is None
