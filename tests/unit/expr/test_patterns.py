from typing import Any

import pytest

from .support import failure, value


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        (r"'Score: 45 of 50' | regex_search('Score: (\d+)') | first | int", 45),
        (r"'a 45% reduction' | regex_search('[0-9]+% reduction')", ["45% reduction"]),
        (r"'a 45% reduction' | regex_search('([0-9]+)% reduction')", ["45"]),
        (r"'k=v' | regex_search('(\w)=(\w)')", ["k", "v"]),
        (r"'k' | regex_search('(k)(=)?')", ["k", None]),
        (r"'none' | regex_search('\d+')", []),
        (r"'none' | regex_search('\d+') | first | default('x')", "x"),
        (r"'10 a 20 ä 30' | regex_findall('\d+')", ["10", "20", "30"]),
        (r"'10 a 20' | regex_findall(r'\d+')", ["10", "20"]),
        (r"'a=1 ä=2' | regex_findall('(\S)=')", ["a", "ä"]),
        (r"'a=1 b=2' | regex_findall('(\w)=(\w)')", [["a", "1"], ["b", "2"]]),
        (r"'x' | regex_findall('(y)?')", ["", ""]),
        (r"'note.txt' | regex_replace('\.txt$', '.bak')", "note.bak"),
        (r"'a1ä2' | regex_replace('(\d)', '<\\1>')", "a<1>ä<2>"),
        (r"'a1' | regex_replace('(?P<n>\d)', '<\\g<n>>')", "a<1>"),
        (r"'a1' | regex_replace('\d', '<\\g<0>>')", "a<1>"),
        (r"'aaa' | regex_replace('a', 'b', 2)", "bba"),
        (r"'a-b' | regex_replace('-', '\\\\')", "a\\b"),
        (r"'a1b2' | regex_replace('\d')", "ab"),
        (r"'ABC' | regex_search('(?i)b')", ["B"]),
        (r"'äöü' | regex_search('\pL+')", ["äöü"]),
        (r"'' | regex_findall('x*')", [""]),
    ],
)
def test_a_pattern_finds_what_it_should(expression: str, result: Any) -> None:
    assert value(expression) == result


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("'a' | regex_search('(')", "the pattern '(' is not valid: missing )"),
        ("'a' | regex_search('(?=a)')", "it can't look ahead or behind"),
        (r"'aa' | regex_search(r'(a)\1')", "invalid escape sequence"),
        (r"'a' | regex_replace('a', '\\2')", "the pattern has no group 2"),
        (r"'a' | regex_replace('a', '\\g<x>')", "the pattern has no group x"),
        ("3 | regex_search('a')", "regex_search works on text, not on a number"),
        ("'a' | regex_search(3)", "regex_search works on text, not on a number"),
        ("'a' | regex_search('a' * 5000)", "at most 2,000 characters"),
        ("'a' | regex_replace('a', 3)", "regex_replace takes"),
        ("x | regex_search('a')", "can't encode"),
    ],
)
def test_wrong_patterns_say_what_is_wrong(expression: str, says: str) -> None:
    assert says in failure("{{ " + expression + " }}", x="\ud800").message
