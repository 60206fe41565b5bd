"""Values turned into another kind, or why that can't be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from wfc_runtime.expr import ExpressionError, evaluate


def given(expression: str, value: Any = None) -> Any:
    return evaluate(f"{{{{ {expression} }}}}", {"x": value}, now=datetime.now(UTC), uuid_seed="s")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (True, "true"),
        (False, "false"),
        (None, ""),
        (3, "3"),
        (0.5, "0.5"),
        ([1, "a"], '[1, "a"]'),
        ({"k": None}, '{"k": null}'),
    ],
)
def test_text_is_what_a_shell_would_have(value: Any, text: str) -> None:
    assert given("x | text", value) == text


@pytest.mark.parametrize("wrong", [0, 1, 2.5, [], {"a": 1}, "yes", "1", ""])
def test_what_does_not_say_true_or_false_is_no_condition(wrong: Any) -> None:
    with pytest.raises(ExpressionError, match="is not true or false"):
        given("x | condition", wrong)


@pytest.mark.parametrize(
    ("value", "truth"), [(True, True), (False, False), (None, False), ("True", True), (" false\n", False)]
)
def test_a_condition_is_true_or_false_in_letters_or_not(value: Any, truth: bool) -> None:
    assert given("x | condition", value) is truth


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        *((True, True), (False, False), (None, False), (0, False), (0.5, True)),
        *(("", False), ("no", True), ("0", True), ("True\n", True), ("FALSE", False)),
        *(([], False), ({"a": 1}, True)),
    ],
)
def test_a_value_is_true_unless_it_is_empty_or_says_false(value: Any, truth: bool) -> None:
    assert given("x | truth", value) is truth


def test_scalar_text_leaves_lists_and_objects_alone() -> None:
    assert given("x | scalar_text", [1, True]) == [1, True]
    assert given("x | scalar_text", {"a": 1}) == {"a": 1}
    assert given("x | scalar_text", True) == "true"


@pytest.mark.parametrize(
    ("value", "to", "expected"),
    [
        (" 42\n", "int", 42),
        (42, "int", 42),
        ("4.0", "int", 4),
        (2.0, "int", 2),
        ("2.5", "float", 2.5),
        ("7", "float", 7),
        ("yes", "bool", True),
        (0, "bool", False),
        ("[1]", "list", [1]),
        ({"a": 1}, "dict", {"a": 1}),
        ('{"a": 1}', "json", {"a": 1}),
        (5, "json", 5),
        (5, "str", "5"),
        (10**18 + 1, "int", 10**18 + 1),
    ],
)
def test_convert_gives_the_type_that_is_asked_for(value: Any, to: str, expected: Any) -> None:
    found = given(f"x | convert('{to}')", value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "to", "says"),
    [
        ("many", "int", "'many' is not a number"),
        ("2.5", "int", "'2.5' is not a whole number"),
        (True, "int", "true or false is not a number"),
        ("inf", "float", "'inf' is not a number"),
        ("perhaps", "bool", "neither true nor false"),
        ("{}", "list", "is not a list"),
        ([], "dict", "a list is not an object"),
        ("{", "json", "JSON"),
        (1, "date", "convert takes one of 'str', 'int'"),
    ],
)
def test_convert_says_what_can_not_be(value: Any, to: str, says: str) -> None:
    with pytest.raises(ExpressionError, match=says):
        given(f"x | convert('{to}')", value)
