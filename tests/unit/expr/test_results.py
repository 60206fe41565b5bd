"""What comes back: the value itself from a lone hole, text from anything else, JSON always."""

from typing import Any

import pytest

from wfc_runtime.expr import ExpressionError, ExprLimits, evaluate_condition, evaluate_tree, is_lone

from .support import NOW, ev, failure, value


@pytest.mark.parametrize("state", [3, 2.5, True, None, "x", [1, [2]], {"a": {"b": None}}])
def test_a_lone_hole_gives_the_value_itself(state: Any) -> None:
    assert ev("{{ state.x }}", state={"x": state}) == state
    assert type(ev("{{ state.x }}", state={"x": state})) is type(state)


@pytest.mark.parametrize("text", ["{{ x }}", "  {{ x }}\n", "\n\t{{- x -}} ", "{# why #}{{ x }}", "{{x}}"])
def test_white_space_and_comments_leave_a_hole_lone(text: str) -> None:
    assert is_lone(text)
    assert ev(text, x=3) == 3


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ x }}.", "3."),
        ("{{ x }}{{ x }}", "33"),
        ("{% if x %}{{ x }}{% endif %}", "3"),
        ("{% raw %}{% endraw %}{{ x }}", "3"),
        ("a\r\n{{ x }}\r\n", "a\r\n3\r\n"),
    ],
)
def test_text_or_statements_around_a_hole_make_it_text(text: str, result: str) -> None:
    assert not is_lone(text)
    assert ev(text, x=3) == result


@pytest.mark.parametrize("text", ["", "plain", "a { b } c", "100%", "}}", "#}", "{ {x} }"])
def test_text_without_holes_stands_for_itself(text: str) -> None:
    assert ev(text) == text


def test_values_print_as_jinja_prints_them() -> None:
    text = "{{ none }} {{ true }} {{ 1.0 }} {{ [1, 'a'] }} {{ {'k': none} }} {{ now() }}"
    assert ev(text) == "None True 1.0 [1, 'a'] {'k': None} 2025-08-19 14:30:00+00:00"


def test_a_result_shares_nothing_with_the_context() -> None:
    state = {"list": [1, {"a": []}]}
    result = ev("{{ state.list }}", state=state)
    result[1]["a"].append(1)
    assert state == {"list": [1, {"a": []}]}


def test_rendered_text_is_not_rendered_again() -> None:
    assert ev("{{ x }}", x="{{ state.secret }}") == "{{ state.secret }}"
    assert ev("a {{ x }}", x="{{ 1 / 0 }}") == "a {{ 1 / 0 }}"


def test_dates_come_back_as_text() -> None:
    assert value("now()") == "2025-08-19T14:30:00+00:00"
    assert value("[now().date()]") == ["2025-08-19"]


def test_a_tuple_is_a_list() -> None:
    assert value("(1, 'a')") == [1, "a"]
    assert value("1, 2") == [1, 2]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("namespace()", "not JSON"),
        ("{1: 2}", "keys of an object are text"),
        ("1e308 * 10", "finite"),
        ("x", "finite"),
        ("y", "surrogate"),
        ("z", "not JSON"),
    ],
)
def test_what_is_not_json_is_refused(expression: str, says: str) -> None:
    error = failure("{{ " + expression + " }}", x=float("nan"), y="\ud800", z=object())
    assert says in error.message


def test_a_tree_is_evaluated_text_by_text() -> None:
    tree = {"n": "{{ n }}", "text": "n is {{ n }}", "list": ["{{ [n] }}", 1, None, True], "{{ n }}": "plain"}
    assert evaluate_tree(tree, {"n": 3}, now=NOW, uuid_seed="s") == {
        "n": 3,
        "text": "n is 3",
        "list": [[3], 1, None, True],
        "{{ n }}": "plain",
    }


def test_ids_differ_within_a_tree() -> None:
    first, second = evaluate_tree(["{{ uuid() }}", "{{ uuid() }}"], {}, now=NOW, uuid_seed="s")
    assert first != second


def test_an_error_in_a_tree_says_where_in_it() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate_tree({"a": [1, "{{ gone }}"]}, {}, now=NOW, uuid_seed="s")
    assert caught.value.path == ("a", 1)


def test_a_tree_shares_one_set_of_limits() -> None:
    tree = ["{% for i in range(1000) %}{% endfor %}"] * 50
    with pytest.raises(ExpressionError, match="too much work"):
        evaluate_tree(tree, {}, now=NOW, uuid_seed="s", limits=ExprLimits(fuel=50_000))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ n > 2 }}", True),
        ("{{ n < 2 }}", False),
        ("{{ [] }}", False),
        ("{{ 'false' }}", True),
        ("{{ false }} ", False),
        ("x{{ false }}", True),
        ("", False),
        (True, True),
        (0, False),
    ],
)
def test_a_condition_is_the_truth_of_its_value(text: Any, result: bool) -> None:
    assert evaluate_condition(text, {"n": 3}, now=NOW, uuid_seed="s") is result


def test_a_condition_on_something_undefined_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="'gone' is not defined"):
        evaluate_condition("{{ gone }}", {}, now=NOW, uuid_seed="s")
