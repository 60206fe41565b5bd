from typing import Any

import pytest

from .support import failure, value


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("'aB' | upper", "AB"),
        ("'aB' | lower", "ab"),
        ("'aB c' | capitalize", "Ab c"),
        ("'hello wORLD-wide (web)' | title", "Hello World-Wide (Web)"),
        (r"' a\n' | strip", "a"),
        ("' a ' | trim", "a"),
        ("'xxaxx' | strip('x')", "a"),
        (r"'a\nb' | split('\n')", ["a", "b"]),
        ("' a  b ' | split", ["a", "b"]),
        ("'' | split(',')", [""]),
        ("'a,b,c' | split(',', 1)", ["a", "b,c"]),
        ("'abab' | replace('a', 'x')", "xbxb"),
        ("'abab' | replace('a', 'x', 1)", "xbab"),
        ("'ab' | replace('', '-')", "-a-b-"),
        ("'x' | center(5)", "  x  "),
        (r"'a\n\nb' | indent(2)", "a\n\n  b"),
        (r"'a\n\nb' | indent('> ', first=true, blank=true)", "> a\n> \n> b"),
        ("'one two three' | truncate(9, leeway=0)", "one..."),
        ("'one two three' | truncate(9, true, '', 0)", "one two t"),
        ("'short' | truncate(3)", "short"),
        ("'a b-c' | wordcount", 3),
        ("3 | string", "3"),
        ("[1] | string", "[1]"),
        ("'<a>' | escape", "&lt;a&gt;"),
        ("'<a>' | e", "&lt;a&gt;"),
        ("'<a>' | safe", "<a>"),
        ("'a b/ä' | urlencode", "a%20b/%C3%A4"),
        ("{'a b': 1, 'c': 'd&'} | urlencode", "a+b=1&c=d%26"),
        ("'%s: %.2f%%' | format('x', 1.234)", "x: 1.23%"),
        ("'%(a)5d|' | format(a=3)", "    3|"),
        ("'%s' | format([1])", "[1]"),
        ("3 | upper", "3"),
        ("{'a': {'b': 2}} | attr('a') | attr('b')", 2),
        ("[4] | random", 4),
        ("'see www.a.org.' | urlize", 'see <a href="https://www.a.org" rel="noopener">www.a.org</a>.'),
    ],
)
def test_a_text_filter_gives_its_result(expression: str, result: Any) -> None:
    assert value(expression) == result


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain-1.2/x", "plain-1.2/x"),
        ("", "''"),
        ("a b", "'a b'"),
        ("it's", "'it'\"'\"'s'"),
        ("$(rm -rf /); `x` | y", "'$(rm -rf /); `x` | y'"),
        ("ä", "'ä'"),
        ("a\nb", "'a\nb'"),
        (3, "3"),
        (["a b", "c"], "'a b' c"),
    ],
)
def test_shquote_makes_one_word_for_the_shell(text: Any, quoted: str) -> None:
    assert value("x | shquote", x=text) == quoted


def test_shquote_agrees_with_the_shell() -> None:
    import shlex

    text = "".join(map(chr, range(1, 300)))
    assert value("x | shquote", x=text) == shlex.quote(text)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("none | upper", "upper works on text, not on null"),
        ("[] | strip", "strip works on text, not on a list"),
        ("none | shquote", "not on null"),
        ("x | shquote", "NUL"),
        ("'%d' | format('x')", "number is required"),
        ("'%s' | format", "fewer values"),
        ("'%s' | format(1, 2)", "more values"),
        ("'%(a)s' | format(b=1)", "fewer values"),
        ("'%c' | format(65)", "has no '%c'"),
        ("'a' | replace('b')", "wrong arguments: it is replace(old, new, count=-1)"),
        ("'a' | replace(1, 2)", "replace takes a text"),
        ("'a' | split('')", "empty separator"),
        ("'a' | upper(1)", "wrong arguments: it is upper()"),
        ("'abcdefghij' | truncate(2)", "at least 3"),
    ],
)
def test_wrong_use_says_what_is_wrong(expression: str, says: str) -> None:
    assert says in failure("{{ " + expression + " }}", x="a\0b").message
