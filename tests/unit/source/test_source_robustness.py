"""Any bytes in, problems out: with work in proportion to the bytes, and with every span inside the file."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from source_helpers import brief, parse, plain, problem_of, root_of, scalars, walk
from tests.counting import calls_of
from tests.growth import LONG_RUNS

from wfc.yaml import (
    Document,
    Mapping,
    Node,
    Sequence,
    Source,
    YamlLimits,
    iter_comments,
    parse_document,
    read_source,
)
from wfc.yaml import builder as event_module
from wfc.yaml.builder import open_with_python


def counted(text: str) -> tuple[int, Document]:
    """How many calls it takes to parse a text, and what comes out."""
    documents: list[Document] = []
    calls = calls_of(lambda: documents.append(parse(text)))
    return calls, documents[0]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("[" * 100_000, 65),
        ("[" * 100_000 + "]" * 100_000, 65),
        ("{a: " * 100_000, 257),
        ("- " * 100_000, 129),
        ("? " * 100_000, 129),
        ("[[x: " * 50_000, 107),
    ],
)
def test_deep_nesting_stops_at_the_limit_and_says_where(text: str, column: int) -> None:
    calls, document = counted(text)
    assert document.root is None
    (problem,) = document.problems
    assert (problem.kind, problem.span.line, problem.span.column) == ("limit", 1, column)
    assert problem.message == "lists and mappings are nested more than 64 levels deep"
    assert calls < 5_000


def test_deep_indentation_stops_at_the_limit() -> None:
    problem = problem_of("".join(" " * level + "a:\n" for level in range(1_000)))
    assert brief(problem)[:3] == (65, 65, "a")


def test_as_many_levels_as_allowed_are_fine() -> None:
    assert parse("[" * 64 + "]" * 64).problems == []
    assert problem_of("[" * 4 + "]" * 4, max_depth=3).span.start == 3


def test_depth_reached_through_aliases_counts() -> None:
    text = "".join(f"- &a{n} [{f'*a{n - 1}' if n else 'x'}]\n" for n in range(100))
    problem = problem_of(text)
    assert (problem.kind, problem.span.text) == ("limit", "*a62")


def test_billion_laughs_stop_at_the_alias_that_goes_too_far() -> None:
    text = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for previous, name in zip("abcdefgh", "bcdefghi", strict=True):
        text += f"{name}: &{name} [{', '.join([f'*{previous}'] * 9)}]\n"
    assert len(text) < 500
    calls, document = counted(text)
    assert document.root is None
    (problem,) = document.problems
    assert (problem.kind, problem.message) == (
        "limit",
        "more than 100,000 values in one file, aliases expanded",
    )
    assert problem.span.text == "*e"
    assert calls < 10_000


def test_80_kb_of_merge_keys_stop_at_the_limit() -> None:
    text = "m0: &m0 {k0: v}\n"
    text += "".join(f"m{n}: &m{n} {{<<: *m{n - 1}, k{n}: v}}\n" for n in range(1, 2_300))
    assert len(text) > 80_000
    calls, document = counted(text)
    assert [problem.message for problem in document.problems] == [
        "more than 100,000 values in one file, aliases expanded"
    ]
    assert calls < 200_000


def test_a_long_chain_of_merges_is_not_deep() -> None:
    text = "m0: &m0 {k0: v}\n"
    text += "".join(f"m{n}: &m{n} {{<<: [*m{n - 1}], k{n}: v}}\n" for n in range(1, 120))
    assert len(plain(root_of(text))["m119"]) == 120


def test_merging_one_mapping_again_and_again_stops_at_the_limit() -> None:
    big = ", ".join(f"k{n}: 1" for n in range(1_000))
    calls, document = counted(f"a: &a {{{big}}}\nb: {{<<: [{', '.join(['*a'] * 20_000)}]}}\n")
    assert [problem.kind for problem in document.problems] == ["limit"]
    assert calls < 100_000


def test_more_values_than_allowed_are_a_problem_at_the_first_too_many() -> None:
    assert brief(problem_of("- a\n- b\n- c\n", max_nodes=2)) == (3, 3, "c", "more than 2 values in one file")
    assert parse("- a\n- b\n- c\n", max_nodes=4).problems == []


@pytest.mark.parametrize(
    "digits", ["1" * 10_000, "-" + "9" * 1_000_000, "0x" + "f" * 10_000, "0o" + "7" * 10_000]
)
def test_a_huge_integer_is_a_limit_problem_and_stays_text(digits: str) -> None:
    calls, document = counted(f"a: {digits}\nb: 1\n")
    (problem,) = document.problems
    assert problem.kind == "limit"
    assert problem.message == f"a number of {len(digits):,} digits is too long: at most 1,000 are allowed"
    assert plain(document.root) == {"a": digits, "b": 1}
    assert calls < 1_000


def test_a_huge_float_is_read_with_as_much_work_as_a_small_one() -> None:
    calls, document = counted("a: 0." + "1" * 500_000)
    assert plain(document.root) == {"a": pytest.approx(0.1111111)}
    assert calls < 1_000


@pytest.mark.parametrize("text", LONG_RUNS, ids=lambda text: repr(text[:12]))
def test_long_runs_of_anything_take_work_in_proportion_to_their_length(text: str) -> None:
    for part in (text, text[: len(text) // 4]):
        calls, document = counted(part)
        assert len(document.problems) <= 100
        assert calls < 30 * len(part)


def test_a_thousand_problems_are_cut_at_a_hundred() -> None:
    assert len(parse("- *a\n" * 1_000).problems) == 100


def test_a_place_in_a_block_scalar_costs_the_same_however_many_lines_it_has() -> None:
    def work(lines: int) -> int:
        (found,) = scalars(root_of("- |\n" + "  {{ x }}\n" * lines))
        found.at(0, 1)  # The first time, the beginnings of all lines are found.

        def place() -> None:
            for index in range(0, 10_000, 100):
                assert found.at(index, index + 1).text == found.text[index]

        return calls_of(place)

    assert work(20_000) < 1.5 * work(2_000)


def assert_sound(source: Source, document: Document) -> None:
    size = len(source.text)
    spans = [node.span for node in walk(document.root)]
    for problem in document.problems:
        assert problem.kind in ("syntax", "limit")
        assert problem.message
        spans += [problem.span, *(span for span, _ in problem.related)]
    spans += [span for span, _ in iter_comments(source, document.root)]
    spans += [scalar.at(0, len(scalar.text)) for scalar in scalars(document.root)]
    for span in spans:
        assert 0 <= span.start <= span.end <= size
        assert span.line <= span.end_line


SIGNS = "ab01 \t\n\n\r'\"\\#:-?[]{},&*!|>%@`~<é😀\x85\u2028"
WORDS = [
    "\r\n",
    "- ",
    ": ",
    "k: ",
    "  ",
    "{{ ",
    " }}",
    "{% ",
    "&a ",
    "*a",
    "!t ",
    "!%e0 ",
    ">-",
    "---\n",
    "...\n",
    "<<: ",
    "\\x4",
    "\\ud800",
]
pieces = st.sampled_from([*SIGNS, *WORDS, "|2"])
yaml_like = st.lists(pieces, max_size=40).map("".join)


@given(st.one_of(yaml_like, st.text(max_size=60)))
@example("? ? \u2028")
@example(" #\x85---{{ #\n\r  %- , |2")
@example("a: !%e0%80%80 x")
@settings(max_examples=300)
def test_parsing_never_raises_and_all_spans_are_in_the_file(text: str) -> None:
    source = Source("flow.yaml", text)
    assert_sound(source, parse_document(source, YamlLimits()))


@given(yaml_like)
@settings(max_examples=200)
def test_without_libyaml_parsing_never_raises_either(text: str) -> None:
    source = Source("flow.yaml", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_module, "open_events", open_with_python)
        assert_sound(source, parse_document(source, YamlLimits()))


@given(
    st.one_of(st.binary(max_size=60), yaml_like.map(lambda text: text.encode("utf-16"))), st.integers(0, 80)
)
@settings(max_examples=200)
def test_reading_any_bytes_never_raises(data: bytes, max_bytes: int) -> None:
    source, problems = read_source(data, "flow.yaml", max_bytes)
    assert_sound(source, Document(None, problems))
    assert_sound(source, parse_document(source, YamlLimits()))


@given(yaml_like)
@settings(max_examples=200)
def test_problem_free_text_without_merges_has_the_shape_that_pyyaml_sees(text: str) -> None:
    document = parse(text)
    if document.problems or "<<" in text:
        return
    expected = yaml.load(text, Loader=yaml.CBaseLoader)
    if expected is not None:
        assert repr(_as_text(document)) == repr(_with_text_keys(expected))


def _as_text(document: Document) -> object:
    def convert(node: Node) -> object:
        if isinstance(node, Mapping):
            return {entry.key.text: convert(entry.value) for entry in node.entries}
        if isinstance(node, Sequence):
            return [convert(item) for item in node.items]
        return node.text

    return convert(document.root) if document.root else None


def _with_text_keys(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _with_text_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_text_keys(item) for item in value]
    return value
