"""Anchors, aliases, merge keys, tags and keys that are no text."""

from __future__ import annotations

import pytest
import yaml
from source_helpers import brief, parse, plain, problem_of, root_of, value_of

from wfc.yaml import Mapping

DEFAULTS = "base: &base {retry: 3, timeout: 5}\nother: &other {timeout: 9, agent: x}\n"


def keys(node: object) -> list[str]:
    assert isinstance(node, Mapping)
    return [entry.key.text for entry in node.entries]


def test_an_alias_shares_the_node_of_its_anchor() -> None:
    root = root_of("a: &x {k: [1, 2]}\nb: *x\nc: [*x, *x]\n")
    assert isinstance(root, Mapping)
    assert root.get("a") is root.get("b")
    assert plain(root)["c"] == [{"k": [1, 2]}] * 2


def test_an_alias_may_stand_for_a_scalar_and_be_a_key() -> None:
    assert plain(root_of("- &name greet\n- *name\n- {*name : 1}\n")) == ["greet", "greet", {"greet": 1}]


def test_an_anchor_may_be_defined_again_and_the_nearest_before_the_alias_counts() -> None:
    assert plain(root_of("[&x 1, *x, &x 2, *x]")) == [1, 1, 2, 2]
    assert plain(root_of("[&x [&x 1, *x], *x]")) == [[1, 1], 1]


def test_an_alias_without_anchor_is_a_problem_at_the_alias_and_the_rest_is_read() -> None:
    document = parse("a: *nowhere\nb: 1\n")
    assert [brief(problem) for problem in document.problems] == [
        (1, 4, "*nowhere", "there is no anchor '&nowhere' before this alias")
    ]
    assert plain(document.root) == {"a": None, "b": 1}


def test_an_alias_before_its_anchor_is_a_problem() -> None:
    assert brief(problem_of("a: *x\nb: &x 1\n"))[:3] == (1, 4, "*x")


@pytest.mark.parametrize("text", ["&x [*x]", "a: &x\n  b: {c: *x}\n", "&x {<<: *x}", "&x {*x : 1}"])
def test_an_alias_inside_its_own_anchor_is_a_problem_and_leaves_no_cycle(text: str) -> None:
    document = parse(text)
    assert [problem.message for problem in document.problems] == [
        "the alias '*x' is inside the value that it refers to"
    ]
    plain(document.root)


def test_merged_entries_follow_the_explicit_ones_which_win() -> None:
    node = value_of(DEFAULTS + "step:\n  id: a\n  <<: *base\n  timeout: 1\n", "step")
    assert keys(node) == ["id", "timeout", "retry"]
    assert plain(node) == {"id": "a", "timeout": 1, "retry": 3}


def test_a_list_of_mappings_is_merged_and_earlier_ones_win() -> None:
    node = value_of(DEFAULTS + "step: {<<: [*other, *base]}\n", "step")
    assert plain(node) == {"timeout": 9, "agent": "x", "retry": 3}


@pytest.mark.parametrize(
    "step",
    [
        "{<<: *base, id: 1}",
        "{<<: [*base, *other], timeout: 0}",
        "{<<: {retry: 1}}",
        "{<<: [{a: 1}, *base]}",
        "{<<: []}",
        '{"<<": 1, a: 2}',
    ],
)
def test_merging_gives_what_pyyaml_gives(step: str) -> None:
    text = f"{DEFAULTS}step: {step}\n"
    assert plain(value_of(text, "step")) == yaml.safe_load(text)["step"]


def test_merges_reach_through_merged_mappings() -> None:
    text = "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\n"
    assert plain(value_of(text, "c")) == {"z": 3, "y": 2, "x": 1}


def test_merged_entries_keep_the_span_of_where_they_are_written() -> None:
    node = value_of(DEFAULTS + "step: {<<: *base}\n", "step")
    assert isinstance(node, Mapping)
    assert [entry.key.span.line for entry in node.entries] == [1, 1]


@pytest.mark.parametrize(
    ("value", "place"), [("3", (1, 5, "3")), ("[{a: 1}, x]", (1, 14, "x")), ("~", (1, 5, "~"))]
)
def test_merging_something_else_is_a_problem(value: str, place: tuple[int, int, str]) -> None:
    problem = problem_of(f"<<: {value}\nb: 1\n")
    assert brief(problem)[:3] == place
    assert problem.message.startswith("'<<' merges a mapping")


def test_merging_an_undefined_alias_is_one_problem() -> None:
    assert brief(problem_of("<<: *x\n"))[2] == "*x"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: !foo bar\n", (1, 4, "!foo")),
        ("a: !!python/object:os.system {}\n", (1, 4, "!!python/object:os.system")),
        ("a: !!str 1\n", (1, 4, "!!str")),
        ("a: &x !t\n  b: 1\n", (1, 7, "!t")),
        ("a: ! b\n", (1, 4, "!")),
        ("a: [!x, 1]\n", (1, 5, "!x")),
        ("a: !<tag:x,2000:y> b\n", (1, 4, "!<tag:x")),
        ("a: !h!x b\n", (1, 4, "!h!x")),
        ("a: !%e0%80%80 b\n", (1, 4, "!%e0%80%80")),
    ],
)
def test_a_tag_is_a_problem_at_the_tag(text: str, place: tuple[int, int, str]) -> None:
    problem = problem_of(text)
    assert brief(problem)[:3] == place
    assert problem.message.startswith("tags are not supported")
    assert problem.help.startswith("remove it")


def test_a_tagged_value_is_read_without_its_tag() -> None:
    assert plain(parse("a: !!str 1\nb: !x [2]\n").root) == {"a": 1, "b": [2]}


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("? [a, b]\n: 1\n", (1, 3, "[a, b]"), "not a list"),
        ("{ {a: 1}: 2 }", (1, 3, "{a: 1}"), "not a mapping"),
        ("? - a\n: 1\n", (1, 3, "- a"), "not a list"),
        ("~: 1\n", (1, 1, "~"), "empty or null"),
        ("null: 1\n", (1, 1, "null"), "empty or null"),
        ("? \n: 1\n", (1, 1, ""), "empty or null"),
        ("a: &x [1]\nb: {*x : 1}\n", (2, 5, "*x"), "not a list"),
    ],
)
def test_a_key_that_is_no_text_is_a_problem(text: str, place: tuple[int, int, str], words: str) -> None:
    problem = problem_of(text)
    assert brief(problem)[:3] == place
    assert problem.message.endswith(words)


def test_quoted_null_and_empty_keys_are_text() -> None:
    assert plain(root_of("'null': 1\n'': 2\n")) == {"null": 1, "": 2}


def test_independent_problems_are_all_reported_in_order() -> None:
    problems = parse("a: !t 1\nb: *x\n<<: 4\n~: 5\n? []\n: 6\n---\nc: 7\n").problems
    assert [problem.span.line for problem in problems] == [1, 2, 3, 4, 5, 7]
