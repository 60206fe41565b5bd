from typing import Any

import pytest

from .support import ev, failure, value

PEOPLE = [
    {"name": "bo", "age": 3, "kind": "x"},
    {"name": "Al", "age": 5, "kind": "Y"},
    {"name": "cy", "age": 3, "kind": "X"},
]


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("'ab' | list", ["a", "b"]),
        ("{'a': 1} | list", ["a"]),
        ("[1, 2] | length", 2),
        ("{'a': 1} | count", 1),
        ("'äb' | length", 2),
        ("[1, 2] | first", 1),
        ("'ab' | last", "b"),
        ("[1, 2] | reverse", [2, 1]),
        ("'ab' | reverse", "ba"),
        ("[1, 'a', none] | join(', ')", "1, a, None"),
        ("p | join(' ', attribute='name')", "bo Al cy"),
        ("[1, 2.5] | sum", 3.5),
        ("p | sum(attribute='age')", 11),
        ("p | sum('age', start=10)", 21),
        ("[[1], [2]] | sum(start=[])", [1, 2]),
        ("[3, 1, 2] | sort", [1, 2, 3]),
        ("[3, 1, 2] | sort(reverse=true)", [3, 2, 1]),
        ("['b', 'A', 'a'] | sort", ["A", "a", "b"]),
        ("['b', 'A', 'a'] | sort(case_sensitive=true)", ["A", "a", "b"]),
        ("p | sort(attribute='age,name') | map(attribute='name')", ["bo", "cy", "Al"]),
        ("[[2, 1], [1, 9]] | sort", [[1, 9], [2, 1]]),
        ("[3, 1, 2] | min", 1),
        ("['b', 'C'] | max", "C"),
        ("p | max(attribute='age') | items | first", ["name", "Al"]),
        ("[1, 2, 1] | unique", [1, 2]),
        ("['a', 'A', 'b'] | unique", ["a", "b"]),
        ("['a', 'A'] | unique(case_sensitive=true)", ["a", "A"]),
        ("[[1], [1], {}] | unique", [[1], {}]),
        ("p | unique(attribute='age') | length", 2),
        ("p | groupby('kind') | map('first')", ["x", "Y"]),
        ("p | groupby('kind', case_sensitive=true) | map('first')", ["X", "Y", "x"]),
        ("p | groupby('zip', default='-') | map('first')", ["-"]),
        ("['a', 'b'] | map('upper')", ["A", "B"]),
        ("['a.txt'] | map('regex_replace', 'txt', 'md')", ["a.md"]),
        ("p | map(attribute='name')", ["bo", "Al", "cy"]),
        ("p | map(attribute='zip', default=0)", [0, 0, 0]),
        ("[{'a': [5]}] | map(attribute='a.0')", [5]),
        ("[0, 1, '', 'x'] | select", [1, "x"]),
        ("[0, 1] | reject", [0]),
        ("[1, 2, 3] | select('odd')", [1, 3]),
        ("[1, 2, 3] | select('greaterthan', 1)", [2, 3]),
        ("[1, 2, 3] | reject('in', [1, 2])", [3]),
        ("p | selectattr('age', 'equalto', 3) | map(attribute='name')", ["bo", "cy"]),
        ("p | rejectattr('age', 'lessthan', 5) | map(attribute='name')", ["Al"]),
        ("p | selectattr('age') | list | length", 3),
        ("[1, 2, 3] | batch(2)", [[1, 2], [3]]),
        ("[1, 2, 3] | batch(2, 0)", [[1, 2], [3, 0]]),
        ("[1, 2, 3] | slice(2)", [[1, 2], [3]]),
        ("[1, 2, 3] | slice(2, 0)", [[1, 2], [3, 0]]),
        ("{'a': 1, 'b': 2} | items", [["a", 1], ["b", 2]]),
        ("{'b': 1, 'A': 2} | dictsort", [["A", 2], ["b", 1]]),
        ("{'b': 1, 'a': 2} | dictsort(by='value', reverse=true)", [["a", 2], ["b", 1]]),
        ("[] | sort", []),
        ("[] | sum", 0),
        ("[] | join", ""),
    ],
)
def test_a_list_filter_gives_its_result(expression: str, result: Any) -> None:
    assert value(expression, p=PEOPLE) == result


def test_groups_have_names_and_unpack() -> None:
    by_name = "{% for g in p | groupby('age') %}{{ g.grouper }}:{{ g.list | length }} {% endfor %}"
    unpacked = "{% for age, list in p | groupby('age') %}{{ age }}:{{ list | length }} {% endfor %}"
    assert ev(by_name, p=PEOPLE) == ev(unpacked, p=PEOPLE) == "3:2 5:1 "


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("3 | list", "can't make a list of a number"),
        ("none | length", "null has no length"),
        ("3 | join", "can't join a number"),
        ("[1, 'a'] | sort", "can't compare"),
        ("[{}, {}] | sort", "can't compare an object with an object"),
        ("[] | max", "there is no greatest item"),
        ("[] | last", "there is no last item"),
        ("[1] | map('uper')", "there is no filter 'uper': did you mean 'upper'?"),
        ("[1] | map", "map takes the name of a filter"),
        ("[1] | map(attribute='a', x=1)", "map has no argument 'x'"),
        ("[1] | select('od')", "there is no test 'od': did you mean 'odd'?"),
        ("[1] | batch(0)", "batch takes a whole number from 1"),
        ("[1] | slice('a')", "slice takes a whole number from 1"),
        ("[1] | items", "items works on an object, not on a list"),
        ("{} | dictsort(by='x')", "'key' or 'value'"),
        ("[1, 'a'] | sum", "can't add a number and text"),
    ],
)
def test_wrong_use_says_what_is_wrong(expression: str, says: str) -> None:
    assert says in failure("{{ " + expression + " }}").message
