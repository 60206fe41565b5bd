import hashlib
from typing import Any

import pytest

from .support import failure, value


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        (" 3 ", 3),
        ('"x"', "x"),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ("```\n[1]\n```\n", [1]),
        ("~~~\n[1]\n~~~", [1]),
        ('Here is the list:\n\n```json\n["a", "b"]\n```\nAnything else?', ["a", "b"]),
        ("```json\n[1]", [1]),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_parse_json_reads_what_agents_send(text: str, result: Any) -> None:
    assert value("x | parse_json", x=text) == result


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "I could not do it",
            "this is not JSON: expecting value in line 1, column 1; the text begins 'I could not",
        ),
        ("```json\n{a}\n```", "the text begins '```json {a} ```'"),
        ("NaN", "NaN is not a JSON number"),
        ("[1e999]", "not a finite number"),
        ("9" * 5000, "a number is too long"),
        ('"\\ud800"', "surrogate"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 150 + "]" * 150, "nested too deeply"),
        ("", "this is not JSON"),
        (3, "parse_json works on text, not on a number"),
    ],
)
def test_parse_json_of_anything_else_says_what_it_found(text: Any, says: str) -> None:
    assert says in failure("{{ x | parse_json }}", x=text).message


def test_tojson_is_plain_json() -> None:
    data = {"b": "<ä & 'ü'>", "a": [1, None, True]}
    assert value("x | tojson", x=data) == '{"b": "<ä & \'ü\'>", "a": [1, null, true]}'
    assert value("[1] | tojson(indent=2)") == "[\n  1\n]"
    assert value("[1] | tojson(2)") == "[\n  1\n]"
    assert value("now() | tojson") == '"2025-08-19T14:30:00+00:00"'


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("[1] | tojson(indent=100)", "indent of 0 to 16"),
        ("namespace() | tojson", "not JSON"),
        ("gone | tojson", "not defined"),
        ("{1: 2} | tojson", "keys of an object are text"),
    ],
)
def test_tojson_refuses_what_is_not_json(expression: str, says: str) -> None:
    assert says in failure("{{ " + expression + " }}").message


@pytest.mark.parametrize("to", ["int", "num", "float"])
@pytest.mark.parametrize("number", [2**53 + 1, -(10**30) - 7, 0])
def test_convert_keeps_every_digit_of_a_whole_number(to: str, number: int) -> None:
    assert value(f"'{number}' | convert('{to}')") == number


def test_hash_is_the_beginning_of_the_sha256() -> None:
    assert value("'abc' | hash") == hashlib.sha256(b"abc").hexdigest()[:16]
    assert value("'ä' | hash") == hashlib.sha256("ä".encode()).hexdigest()[:16]
    assert value("{'b': 1, 'a': [2]} | hash") == hashlib.sha256(b'{"a":[2],"b":1}').hexdigest()[:16]
    assert value("{'a': [2], 'b': 1} | hash") == value("{'b': 1, 'a': [2]} | hash")


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("'Yes' | bool", True),
        ("' true ' | bool", True),
        ("'on' | bool", True),
        ("'1' | bool", True),
        ("'no' | bool", False),
        ("'FALSE' | bool", False),
        ("'' | bool", False),
        ("0 | bool", False),
        ("[0] | bool", True),
        ("none | bool", False),
    ],
)
def test_bool_reads_words(expression: str, result: bool) -> None:
    assert value(expression) is result


def test_bool_does_not_guess() -> None:
    assert failure("{{ 'maybe' | bool }}").message == "'maybe' is neither true nor false"


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("'42' | int", 42),
        ("' 42.9 ' | int", 42),
        ("'x' | int", 0),
        ("'x' | int(-1)", -1),
        ("none | int", 0),
        ("'ff' | int(base=16)", 255),
        ("2.9 | int", 2),
        ("true | int", 1),
        ("'2.5' | float", 2.5),
        ("'x' | float(1.5)", 1.5),
        ("'inf' | float", 0.0),
        ("'nan' | float", 0.0),
        ("-3 | abs", 3),
        ("2.345 | round(2)", 2.35),
        ("42.5 | round(0, 'ceil')", 43.0),
        ("42.5 | round(method='floor')", 42.0),
        ("(7 / 3) | round(2)", 2.33),
        ("1 | filesizeformat", "1 Byte"),
        ("999 | filesizeformat", "999 Bytes"),
        ("13000 | filesizeformat", "13.0 kB"),
        ("1048576 | filesizeformat(true)", "1.0 MiB"),
    ],
)
def test_a_number_filter_gives_its_result(expression: str, result: Any) -> None:
    assert value(expression) == result
    assert type(value(expression)) is type(result)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("'a' | abs", "abs works on numbers, not on text"),
        ("'a' | round", "round works on numbers"),
        ("1 | round(1000)", "at most 100"),
        ("1 | round(0, 'x')", "'common', 'ceil' and 'floor'"),
        ("('9' * 4000) | int", "too large"),
    ],
)
def test_wrong_numbers_are_refused(expression: str, says: str) -> None:
    assert says in failure("{{ " + expression + " }}").message
