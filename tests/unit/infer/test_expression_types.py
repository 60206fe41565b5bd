"""The type of an expression, as far as the types of its parts tell."""

from __future__ import annotations

import pytest

from tests.unit.infer.support import infer, problems, type_of


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("state.build.exit_code", "int"),
        ("state.build['stdout']", "text"),
        ("state.names[0]", "text"),
        ("state.issues.0.size", "int"),
        ("state.scores.anything", "int"),
        ("state.unknown.at.any[3].depth", "any"),
        ("inputs.limit", "number"),
        ("item", "text"),
    ],
)
def test_a_path_has_the_type_of_what_stands_at_its_end(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("state.count + 1", "int"),
        ("state.count / 2", "number"),
        ("state.count // 2", "int"),
        ("state.unknown + 1", "number"),
        ("state.unknown + 'a'", "text"),
        ("state.unknown - state.unknown", "number"),
        ("state.names + ['a']", "list of text"),
        ("[] + [1]", "list of 1"),
        ("'-' * state.count", "text"),
        ("state.count ~ 'x'", "text"),
        ("-state.count", "int"),
        ("-1", "-1"),
        ("state.count > 3", "bool"),
        ("not state.text", "bool"),
    ],
)
def test_operators_give_what_their_operands_make(expression: str, expected: str) -> None:
    assert type_of(expression) == expected
    assert problems(expression) == []


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("state.text or 1", "text or 1"),
        ("state.flag and 'yes'", "bool or 'yes'"),
        ("state.count if state.flag else 'none'", "int or 'none'"),
        ("state.count if state.flag", "int or null"),
        ("state.plan or {}", "DelegateResult or object"),
        ("state.text if state.flag else state.text", "text"),
        ("[1, 2, 'a']", "list of 1 or 2 or 'a'"),
        ("{'a': state.count, 'b': {'c': 1}}.b.c", "1"),
        ("state.text[1:3]", "text"),
        ("state.names[-2:]", "list of text"),
    ],
)
def test_choices_lists_objects_and_slices_keep_what_they_are_made_of(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("state.names | length", "int"),
        ("state.names | first", "text"),
        ("state.names | join(', ')", "text"),
        ("state.text | int", "int"),
        ("state.text | int('none')", "int or 'none'"),
        ("state.count | round", "int"),
        ("state.ratio | round(2)", "number"),
        ("state.issues | map(attribute='title') | list", "list of text"),
        ("state.issues | map(attribute='owner', default=0) | list", "list of text or 0"),
        ("state.names | map('length') | list", "list of int"),
        ("state.issues | selectattr('size', 'gt', 3) | first", "{title, size, owner, parent}"),
        ("state.issues | sum(attribute='size')", "int"),
        ("state.issues | sum(attribute='title', start='')", "text"),
        ("[[1], [2]] | sum(start=[])", "list of 1 or 2"),
        ("state.issues | groupby('title') | first", "[text, list of {title, size, owner, parent}]"),
        ("(state.issues | groupby('title') | first).list", "list of {title, size, owner, parent}"),
        ("state.names | batch(2) | first", "list of text"),
        ("state.scores | dictsort | first", "[text, int]"),
        ("state.text | regex_search('([0-9]+)')", "list of text"),
        ("state.text | regex_search('([0-9]+)?')", "list of any"),
        ("state.unknown | parse_json", "any"),
        ("state.unknown | tojson", "text"),
        ("state.maybe | default(0)", "text or 0"),
        ("inputs.note | default('', true)", "text"),
        ("state.names | sort | reverse | unique | list", "list of text"),
        ("['a', none] | reject('none') | list", "list of 'a'"),
        ("['a', 1] | select('string') | list", "list of 'a'"),
    ],
)
def test_filters_give_what_their_signatures_say(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("state.text.strip()", "text"),
        ("state.text.split()", "list of text"),
        ("state.text.partition('=')[2]", "text"),
        ("state.unknown.split(',')", "list of text"),
        ("state.scores.items()", "list of [text, int]"),
        ("state.issue.get('title')", "text"),
        ("state.issue.get('owner', 0)", "text or 0"),
        ("state.scores.values()", "list of int"),
        ("now()", "moment"),
        ("now().date().year", "int"),
        ("now().isoformat()", "text"),
        ("range(3)", "list of int"),
        ("dict(a=1).a", "1"),
        ("uuid()", "text"),
    ],
)
def test_methods_and_functions_give_what_their_signatures_say(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "'plain'"),
        ("a {{ state.count }} b", "text"),
        ("{% if state.flag %}yes{% else %}no{% endif %}", "'no' or 'yes'"),
        ("is {{ state.flag }}", "'is False' or 'is True'"),
        ("{% for name in state.names %}{{ name }}{% endfor %}", "text"),
        ("{{ state.names", "any"),
    ],
)
def test_text_with_holes_is_text_and_known_to_the_letter_where_that_is_little(
    text: str, expected: str
) -> None:
    assert str(infer(text)[0]) == expected


def test_set_and_for_bind_names_that_have_types() -> None:
    text = (
        "{% set total = state.names | length %}"
        "{% for issue in state.issues if issue.size > total %}{{ issue.titel }}{{ loop.index + total }}{% endfor %}"
        "{% for key, value in state.scores.items() %}{{ key + value }}{% endfor %}"
        "{% set block %}x{% endset %}{{ block + 1 }}"
    )
    found = [text[problem.start : problem.end] for problem in infer(text)[1]]
    assert found == ["titel", "key + value", "block + 1"]


def test_a_name_set_in_one_branch_has_both_types_afterwards() -> None:
    text = "{% set x = 1 %}{% if state.flag %}{% set x = 'a' %}{% endif %}{{ x.y }}{{ x }}"
    found = infer(text)[1]
    assert [problem.message for problem in found] == ["`x` is text or a number: it has no property `y`"]
