"""Texts that can't be read: what is wrong, in clear words, at the exact place."""

import pytest

from wfc_runtime.expr.syntax import parse

from .support import failure

BROKEN = [
    ("a {{ b", "{{", "`{{` is never closed with `}}`"),
    ("{% if x", "{%", "`{%` is never closed with `%}`"),
    ("{# x", "{#", "`{#` is never closed with `#}`"),
    ("{% raw %}x", "{% raw %}", "`{% raw %}` is never closed with `{% endraw %}`"),
    ("{{ }}", "{{ }}", "there is nothing between the braces"),
    ("{{ f(a }}", "(", "`(` is never closed with `)`"),
    ("{{ [1, (2] }}", "(", "`(` is never closed with `)`"),
    ("{{ a[ }}", "[", "`[` is never closed with `]`"),
    ("{{ ] }}", "]", "`]` closes nothing"),
    ("{{ a || b }}", "||", "`||` is not an operator here: write `or`"),
    ("{{ a && b }}", "&", "`&` is not an operator here: write `and`"),
    ("{{ !a }}", "!", "`!` is not an operator here: write `not`"),
    ("{{ a ? b : c }}", "?", "`?` is not an operator here: write `a if condition else b`"),
    ("{{ a = b }}", "=", "`=` assigns and is not allowed here: write `==` to compare"),
    ("{{ 'abc }}", "'abc }}", "this string is never closed"),
    ("{{ a b }}", "b", "expected `}}` but found `b`"),
    ("{{ a | }}", "}}", "expected a name but found `}}`"),
    ("{{ a. }}", "}}", "expected a name after the dot"),
    ("{{ 1 + }}", "}}", "expected a value but found `}}`"),
    ("{{ a is b is c }}", "is", "you cannot chain multiple tests with is"),
    ("{{ a[1, 2] }}", "[", "expected one index between the brackets"),
    ("{{ x.__class__ }}", "__class__", "`__class__` begins with an underscore"),
    ("{{ f()() }}", "(", "only functions and methods can be called"),
    ("{{ f(*a) }}", "(", "`*` and `**` arguments are not part of this language"),
    ("{{ “a” }}", "“a”", "`“a”` is not a name"),
    ("{{ a` }}", "`", "a backtick quotes nothing here"),
    ("{{ 1e999 }}", "1e999", "this number is too large"),
    (r"{{ '\ud800' }}", r"'\ud800'", "an escape that is not a character"),
    (r"{{ '\N{no such thing}' }}", r"'\N{no such thing}'", "an escape that is not a character"),
    ("{% if a %}x", "if", "`{% if %}` is never closed with `{% endif %}`"),
    ("{% for a in b %}{% if c %}{% endfor %}", "if", "`{% if %}` is not closed before `{% endfor %}`"),
    ("{% endif %}", "endif", "`{% endif %}` without `{% if %}` before it"),
    ("{% else %}", "else", "`{% else %}` without `{% if %}` before it"),
    ("{% set x %}", "set", "or `=` and a value are missing"),
    ("{% macro f() %}", "macro", "`{% macro %}` is not part of this language: there are for, if and set"),
    ("{% endmacro %}", "endmacro", "is not part of this language"),
    ("{% fro x in y %}", "fro", "`{% fro %}` is no statement: there are for, if and set"),
    ("{% 1 %}", "{%", "a statement begins with its name"),
    ("{% for x in y recursive %}{% endfor %}", "for", "a recursive loop is not part of this language"),
    ("{% for loop in y %}{% endfor %}", "loop", "`loop` is the loop's own variable"),
    ("{% for 1 in y %}{% endfor %}", "1", "can't assign to 'const'"),
]


@pytest.mark.parametrize(("text", "where", "says"), BROKEN)
def test_a_broken_template_says_what_is_wrong_and_where(text: str, where: str, says: str) -> None:
    error = parse(text).error
    assert error is not None
    assert says in error.message
    assert text[error.start : error.end] == where


@pytest.mark.parametrize(("text", "where", "says"), BROKEN[:10])
def test_running_it_fails_the_same_way(text: str, where: str, says: str) -> None:
    error = failure(text)
    assert error.reason == "syntax"
    assert says in error.message
    assert error.start is not None
    assert text[error.start : error.end] == where


@pytest.mark.parametrize(
    "text",
    [
        "{{ {'a': {'b': {}}} }}",
        "{{ '}}' }}",
        '{{ "{%" }}',
        "{% set x = {'a': {}} %}",
        "{{ a % b }}",
        "{{ {} }}",
    ],
)
def test_braces_inside_do_not_end_a_tag(text: str) -> None:
    assert parse(text).error is None


def test_nothing_is_folded_when_a_template_is_read() -> None:
    assert parse("{{ 'a' * 10**10 }}{{ 1 / 0 }}{{ x | nope }}").error is None
