from typing import Any

import pytest

from .support import failure, value


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3 - 4", 3),
        ("7 / 2", 3.5),
        ("7 // 2", 3),
        ("7 % 2", 1),
        ("-2 ** 2", 4),
        ("2 ** 10", 1024),
        ("2 ** -1", 0.5),
        ("+3", 3),
        ("true + 1", 2),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("'ab' * 2", "abab"),
        ("2 * [1]", [1, 1]),
        ("'a' * -1", ""),
        ("'a' ~ 1 ~ none", "a1None"),
        ("1 == 1.0", True),
        ("'1' == 1", False),
        ("[1, {'a': 2}] == [1, {'a': 2}]", True),
        ("[1] != [1, 2]", True),
        ("[1, 2] < [1, 3]", True),
        ("1 < 2 <= 2 < 3", True),
        ("'a' < 'b'", True),
        ("3 >= 4", False),
        ("2 in [1, 2]", True),
        ("[2] in [1, [2]]", True),
        ("'b' in 'abc'", True),
        ("'a' in {'a': 1}", True),
        ("3 not in [1, 2]", True),
        ("not 0", True),
        ("0 or 'x'", "x"),
        ("1 and 0", 0),
        ("'a' if 1 else 'b'", "a"),
        ("'a' 'b'", "ab"),
        ("[1, 2, 3][1]", 2),
        ("[1, 2, 3][-1]", 3),
        ("'abc'[1:]", "bc"),
        ("[1, 2, 3][::-1]", [3, 2, 1]),
        ("[1, 2, 3][:2]", [1, 2]),
        ("[[1]].0.0", 1),
        ("{'a': 1}.a", 1),
        ("{1: 'x'}[1]", "x"),
        (r"'a\tb\\\u00e4\d'", "a\tb\\ä\\d"),
        (r"r'\n'", "\\n"),
        ("1_000 + 0x10", 1016),
    ],
)
def test_an_operator_gives_its_result(expression: str, result: Any) -> None:
    assert value(expression) == result
    assert type(value(expression)) is type(result)


@pytest.mark.parametrize(
    ("expression", "says", "reason"),
    [
        ("'a' + 1", "can't add text and a number; `~` joins anything as text", "type"),
        ("none + 1", "can't add null and a number", "type"),
        ("[] - []", "can't subtract a list and a list", "type"),
        ("'%s' % 1", "can't take the remainder of text by a number", "type"),
        ("1 / 0", "division by zero", "value"),
        ("1 % 0", "division by zero", "value"),
        ("0 ** -1", "division by zero", "value"),
        ("(-8) ** 0.5", "not a finite number", "value"),
        ("1e308 * 1e308", "not a finite number", "value"),
        ("1.5 * 'a'", "can't multiply a number and text", "type"),
        ("-'a'", "can't negate text", "type"),
        ("+'a'", "text is not a number", "type"),
        ("1 < 'a'", "can't compare a number with text", "type"),
        ("none < 1", "can't compare null with a number", "type"),
        ("{} < {}", "can't compare an object with an object", "type"),
        ("1 in 5", "can't look into a number", "type"),
        ("1 in 'abc'", "can't look for a number in text", "type"),
        ("'abc'['a':]", "whole numbers for bounds", "type"),
        ("[1][::0]", "steps of 0", "value"),
        ("3[1:]", "can't take a slice of a number", "type"),
        ("{[]: 1}", "can't be a key", "type"),
    ],
)
def test_what_does_not_fit_is_an_error(expression: str, says: str, reason: str) -> None:
    error = failure("{{ " + expression + " }}")
    assert says in error.message
    assert error.reason == reason


def test_the_place_of_an_error_is_the_operation() -> None:
    text = "{{ 1 + 2 }} {{ 3 * (4 - 'x') < 5 }}"
    error = failure(text)
    assert error.start is not None
    assert text[error.start : error.end] == "4 - 'x'"
    text = "{{ (1 < 'a') and true }}"
    error = failure(text)
    assert text[error.start : error.end] == "1 < 'a'"
