import pytest

from .support import failure, value


@pytest.mark.parametrize(
    "expression",
    [
        "3 is odd",
        "4 is even",
        "9 is divisibleby 3",
        "9 is divisibleby(3)",
        "none is none",
        "0 is not none",
        "true is boolean",
        "true is true",
        "1 is not true",
        "false is false",
        "1 is integer",
        "true is not integer",
        "1.0 is float",
        "1 is number",
        "'a' is string",
        "{} is mapping",
        "[] is sequence",
        "3 is not iterable",
        "'a' is lower",
        "'A' is upper",
        "1 is in [1]",
        "1 is not in [2]",
        "1 is sameas 1",
        "1 is not sameas 1.0",
        "'upper' is filter",
        "'attrs' is not filter",
        "'odd' is test",
        "1 is not callable",
        "'a' is not escaped",
        "1 is eq 1",
        "1 is equalto(1)",
        "1 is ne 2",
        "2 is gt 1",
        "2 is greaterthan 1",
        "2 is ge 2",
        "1 is lt 2",
        "1 is lessthan(2)",
        "2 is le 2",
        "x is defined",
        "y is undefined",
    ],
)
def test_a_test_that_holds_is_true(expression: str) -> None:
    assert value(expression, x=1) is True


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("1 is oddd", "there is no test 'oddd': did you mean 'odd'?"),
        ("'a' is odd", "for whole numbers, not text"),
        ("1 is divisibleby 0", "division by zero"),
        ("1 is greaterthan('a')", "can't compare"),
        ("1 is odd(2)", "wrong arguments: it is odd()"),
    ],
)
def test_wrong_tests_say_what_is_wrong(expression: str, says: str) -> None:
    assert says in failure("{{ " + expression + " }}").message
