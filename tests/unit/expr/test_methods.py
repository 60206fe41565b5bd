from typing import Any

import pytest

from .support import ev, failure, value


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        (r"' a\nb '.strip().split('\n')", ["a", "b"]),
        ("'a b'.split()", ["a", "b"]),
        ("'a,b,c'.rsplit(',', maxsplit=1)", ["a,b", "c"]),
        (r"'a\r\nb'.splitlines()", ["a", "b"]),
        ("'k=v=w'.partition('=')", ["k", "=", "v=w"]),
        ("'k=v=w'.rpartition('=')", ["k=v", "=", "w"]),
        ("'ab'.upper().lower().title().capitalize().swapcase()", "aB"),
        ("'xxa'.lstrip('x') + 'axx'.rstrip('x')", "aa"),
        ("'v1.2'.removeprefix('v').removesuffix('.2')", "1"),
        ("'a.py'.endswith('.py')", True),
        ("'a.py'.endswith(['.py', '.md'])", True),
        ("'abc'.startswith('b')", False),
        ("'abca'.find('c')", 2),
        ("'abca'.rfind('a')", 3),
        ("'abca'.count('a')", 2),
        ("'12'.isdigit()", True),
        ("', '.join(['a', 'b'])", "a, b"),
        ("'aXbX'.replace('X', '-', 1)", "a-bX"),
        ("'7'.zfill(3) + '7'.rjust(3, '.') + '7'.ljust(2) + '7'.center(3, '*')", "007..77 *7*"),
        ("{'a': 1}.get('a')", 1),
        ("{'a': 1}.get('b')", None),
        ("{'a': 1}.get('b', 2)", 2),
        ("{'a': 1, 'b': 2}.keys()", ["a", "b"]),
        ("{'a': 1, 'b': 2}.values()", [1, 2]),
        ("{'a': 1}.items()", [["a", 1]]),
        ("[1, 2, 1].count(1)", 2),
        ("['a', 'b'].index('b')", 1),
    ],
)
def test_a_method_gives_its_result(expression: str, result: Any) -> None:
    assert value(expression) == result


def test_a_key_wins_over_a_method_of_its_name() -> None:
    state = {"items": [1, 2], "keys": "k", "get": 3}
    assert ev("{{ state.items }}", state=state) == [1, 2]
    assert ev("{{ state.keys }}{{ state['get'] }}", state=state) == "k3"


def test_what_is_called_is_a_method_whatever_the_keys_are() -> None:
    text = "{% for key, value in state.items() %}{{ key }}={{ value }} {% endfor %}"
    assert ev(text, state={"items": 1, "b": 2}) == "items=1 b=2 "


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("state.list.append(1)", "a list has no method 'append'"),
        ("state.list.sort()", "a list has no method 'sort'"),
        ("state.update({})", "an object has no method 'update'"),
        ("state.pop('list')", "an object has no method 'pop'"),
        ("'{}'.format(1)", "text has no method 'format'"),
        ("'a'.encode()", "text has no method 'encode'"),
        ("'a'.stripp()", "text has no method 'stripp': did you mean 'strip'?"),
        ("none.strip()", "null has no method 'strip'"),
        ("(3).bit_length()", "a number has no method 'bit_length'"),
        ("'a'.strip(1)", "strip: "),
        ("'a'.replace('a')", "wrong arguments: it is replace(old, new, count=-1)"),
        ("'a'.index('b')", "substring not found"),
        ("['a'].index('b')", "the list does not have this item"),
        ("', '.join([1])", "join takes a list of texts"),
        ("'a'.zfill('x')", "zfill takes a whole number"),
    ],
)
def test_other_methods_do_not_exist(expression: str, says: str) -> None:
    state = {"list": [1]}
    assert says in failure("{{ " + expression + " }}", state=state).message
    assert state == {"list": [1]}
