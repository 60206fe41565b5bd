"""Comments, and the number signs that are none."""

from __future__ import annotations

from typing import cast

import pytest

from wfc.yaml import Node, Source, YamlLimits, iter_comments, parse_document


def comments(text: str) -> list[tuple[int, int, str]]:
    source = Source("flow.yaml", text)
    document = parse_document(source, YamlLimits())
    return [(span.line, span.column, words) for span, words in iter_comments(source, document.root)]


def test_comments_are_found_with_their_place_and_words() -> None:
    text = "# first\na: 1  # wfc: ignore[WF305] on purpose\n\n  #second\nb: [1, # in a list\n  2]#tight\n"
    assert comments(text) == [
        (1, 1, "first"),
        (2, 7, "wfc: ignore[WF305] on purpose"),
        (4, 3, "second"),
        (5, 8, "in a list"),
        (6, 5, "tight"),
    ]


def test_the_span_is_the_comment_to_the_end_of_its_line() -> None:
    source = Source("flow.yaml", "a: 1 # one  \r\nb: 2 # two")
    root = parse_document(source, YamlLimits()).root
    assert [span.text for span, _ in iter_comments(source, root)] == ["# one  ", "# two"]


@pytest.mark.parametrize(
    "text",
    [
        "a: 'x # y'\n",
        'a: "x # y"\n',
        'a: "x\n  # y"\n',
        "a: |\n  # y\n  z\n",
        "a: >\n  x\n  # y\n",
        "a: x#y\n",
        "'# a': b\n",
        "a: ['# b', \"# c\"]\n",
        "a: &x '# b'\nc: *x\n",
        "a: {{ x }}\n",
        "a: 1\n",
    ],
)
def test_a_number_sign_inside_a_scalar_is_no_comment(text: str) -> None:
    assert comments(text) == []


def test_a_comment_behind_the_sign_of_a_block_is_found_and_its_content_is_none() -> None:
    assert comments("a: | # one\n  # text\n# two\nb: |- # three\n") == [
        (1, 6, "one"),
        (3, 1, "two"),
        (4, 7, "three"),
    ]


def test_comments_next_to_anchors_and_merges_are_found() -> None:
    text = "a: &x # one\n  k: '# no'\nb:\n  <<: *x # two\n  k: 2\n"
    assert [words for _, _, words in comments(text)] == ["one", "two"]


def test_a_file_of_comments_only_has_no_tree_but_comments() -> None:
    assert comments("# one\n# two\n") == [(1, 1, "one"), (2, 1, "two")]


def test_a_text_without_number_sign_is_skipped_without_walking_the_tree() -> None:
    cannot_be_walked = cast(Node, object())
    assert list(iter_comments(Source("flow.yaml", "a: 1\n"), cannot_be_walked)) == []
