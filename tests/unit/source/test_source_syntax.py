"""Syntax errors in plain words, at the exact place, whichever parser finds them."""

from __future__ import annotations

import pytest
from source_helpers import brief, parse, plain, problem_of

from wfc.yaml import builder
from wfc.yaml.builder import open_with_python


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(builder, "open_events", open_with_python)


INDENTED_AS_VALUE = "is indented as if it were part of the value above"
FITS_NO_LINE = "the indentation of this line matches no line above it"


@pytest.mark.parametrize(
    ("text", "line", "column", "underlined", "message"),
    [
        # tabs
        ("a:\n\tb: 1\n", 2, 1, "\t", "a tab is used for indentation"),
        ("a: 1\n\tb: 1\n", 2, 1, "\t", "a tab is used for indentation"),
        ("a:\n  - b\n\t- c\n", 3, 1, "\t", "a tab is used for indentation"),
        ("a: 1\n  \tb: 2\n", 2, 3, "\t", "a tab is used for indentation"),
        ("a: |\n\tb\n", 2, 1, "\t", "a tab is used for indentation"),
        # colons
        ("a b\nc: d\n", 1, 1, "a b", "expected ':' after 'a b'"),
        ("a: 1\nfoo\nb: 2\n", 2, 1, "foo", "expected ':' after 'foo'"),
        ("id:build\ntype: x\n", 1, 3, ":", "a space is missing after this ':'"),
        ("a: 1\nid:build\nb: 2\n", 2, 3, ":", "a space is missing after this ':'"),
        ("a: b: c\n", 1, 5, ":", "a second ':' in one line"),
        ('run: echo "a": b\n', 1, 14, ":", "a second ':' in one line"),
        ("a: [b]: c\n", 1, 7, ":", "a second ':' in one line"),
        (": 1\n", 1, 1, ":", "a key is missing before this ':'"),
        ("a: {: 1}\n", 1, 5, ":", "a key is missing before this ':'"),
        # quotes
        ("a: 'foo\nb: c\n", 1, 4, "'", "this ' is never closed"),
        ('a: "foo\nb: c\n', 1, 4, '"', 'this " is never closed'),
        ("a: '\n---\n'\n", 1, 4, "'", "this ' is never closed"),
        ("a: 'it's'\n", 1, 8, "s'", "unexpected text after the closing '"),
        ('a: "x" y # z\n', 1, 8, "y", 'unexpected text after the closing "'),
        ('a: "x\nb: "y"\n', 2, 5, 'y"', 'unexpected text after the closing "'),
        ('a: "\\q"\n', 1, 5, "\\q", "'\\q' is not an escape sequence"),
        (
            'a: "b\\xZZ"\n',
            1,
            6,
            "\\x",
            "'\\x' must be followed by 2 hexadecimal digits that name a character",
        ),
        # brackets
        ("a: [1, 2\nb: c\n", 1, 4, "[", "this [ is never closed"),
        ("a: {x: 1\nb: c\n", 1, 4, "{", "this { is never closed"),
        ("a: [1, 2", 1, 4, "[", "this [ is never closed"),
        ("{a: [b\n", 1, 5, "[", "this [ is never closed"),
        ("a: [1, 2}\n", 1, 9, "}", "'}' cannot close what '[' opened"),
        ("a: ]\n", 1, 4, "]", "this ']' closes nothing"),
        ("a: [1]]\n", 1, 7, "]", "this ']' closes nothing"),
        ("{a: b}}\n", 1, 7, "}", "this '}' closes nothing"),
        ("a: ['b' 'c']\n", 1, 9, "'", "expected ',' or ']' before this"),
        ("a: {\n  x: 1\n  y: 2\n}\n", 3, 3, "y", "expected ',' or '}' before this"),
        # indentation
        ("a: b\n c: d\n", 2, 2, "c", f"'c' {INDENTED_AS_VALUE}"),
        ("- id: a\n  type: b\n   run: c\n", 3, 4, "run", f"'run' {INDENTED_AS_VALUE}"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "c: 2", FITS_NO_LINE),
        ("a: 'x'\n  b: c\n", 2, 3, "b: c", FITS_NO_LINE),
        ("s:\n  - id: a\n   type: b\n", 3, 4, "type: b", FITS_NO_LINE),
        ("- - a\n - b\n", 2, 2, "- b", FITS_NO_LINE),
        ("a: |\n  b\n c\n", 3, 2, "c", FITS_NO_LINE),
        ("s:\n  - id: a\n  type: b\n", 3, 3, "type: b", "expected another list item here"),
        ("a: 1\n- b\n", 2, 1, "- b", "a list item where a key is expected"),
        ("a: - b\n", 1, 4, "-", "a list cannot begin in the line of its key"),
        # characters with a meaning
        ("a: @foo\n", 1, 4, "@", "a value cannot begin with '@'"),
        ("a: `foo`\n", 1, 4, "`", "a value cannot begin with '`'"),
        ("a: %foo\n", 1, 4, "%", "a value cannot begin with '%'"),
        ("a: ,x\n", 1, 4, ",", "a value cannot begin with ','"),
        (
            "a: *.py\n",
            1,
            4,
            "*",
            "'*' at the beginning of a value makes it an alias, and this is not a valid name",
        ),
        ("a: > 3\n", 1, 6, "3", "unexpected text after '>', which begins a text of several lines"),
        ("%YAML 2.0\n---\na: 1\n", 1, 1, "%YAML 2.0", "this '%' line is not a known directive"),
        # documents
        ("a: 1\n---\nb: 2\n", 2, 1, "---", "a second document starts here, and a file holds one workflow"),
        ("a: 1\n...\nb: 2\n", 3, 1, "b", "unexpected text after the end of the document"),
    ],
)
def test_a_mistake_is_explained_at_its_place(
    text: str, line: int, column: int, underlined: str, message: str
) -> None:
    problem = problem_of(text)
    assert brief(problem) == (line, column, underlined, message)
    assert problem.kind == "syntax"
    assert problem.help


@pytest.mark.parametrize("line_break", ["\r\n", "\r"])
def test_places_are_right_with_other_line_breaks_and_wide_characters(line_break: str) -> None:
    problem = problem_of(f"é: ☺{line_break}😀: 'foo{line_break}")
    assert brief(problem)[:3] == (2, 4, "'")


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("a: @foo # note\n", 'quote the value: "@foo"'),
        ("a: *.py\n", 'quote the value: "*.py"'),
        ("id:build\ntype: x\n", "write 'id: build'"),
        ('a: say "b": c\n', "quote the value if the ':' is part of it: 'say \"b\": c'"),
        ("a: @" + "x" * 500, "quote the value"),
        ('a: "x\nb: "y"\n', 'is the closing " missing in line 1, where the quoted text begins?'),
    ],
)
def test_the_help_shows_the_way_out(text: str, help: str) -> None:
    assert problem_of(text).help == help


def test_related_places_show_the_other_end_of_the_mistake() -> None:
    problem = problem_of("a:\n  [1, 2}\n")
    assert [(span.line, span.column, words) for span, words in problem.related] == [(2, 3, "the '['")]


def test_a_key_over_1024_characters_is_explained_shortly() -> None:
    problem = problem_of("k" * 10_000 + ": 1\n")
    assert problem.message == "a key of 10,000 characters is too long: YAML allows 1,024"


def test_long_lines_do_not_make_long_messages() -> None:
    for text in ("!" * 9_000, "x" * 9_000 + "\na: b", "a: *" + "y" * 9_000, "a: b\n " + "z" * 900 + ": 1\n"):
        for problem in parse(text).problems:
            assert len(problem.message) < 150
            assert len(problem.help) < 150


def test_a_syntax_error_leaves_no_tree_but_keeps_the_problems_before_it() -> None:
    document = parse("a: !t 1\nb: *x\nc: 'open\n")
    assert document.root is None
    assert [problem.span.line for problem in document.problems] == [1, 2, 3]


def test_a_second_document_leaves_the_tree_of_the_first() -> None:
    assert plain(parse("a: 1\n--- 'open\n").root) == {"a": 1}


TEMPLATE = "a value that begins with '{{' must be quoted"


@pytest.mark.parametrize(
    ("text", "underlined"),
    [
        ("if: {{ state.x }}\n", "{{ state.x }}"),
        ("if: {{ state.x }}   # note\n", "{{ state.x }}"),
        ("if: {{ state.x[0] }}\n", "{{ state.x[0] }}"),
        ("if: {{ state.x | f(1, 'a') }}\n", "{{ state.x | f(1, 'a') }}"),
        ('if: {{ x == "open }}\n', '{{ x == "open }}'),
        ("if: {{ a }} and {{ b }}\n", "{{ a }} and {{ b }}"),
        ("if: {{ a }}: b\n", "{{ a }}: b"),
        ("if: {{ {'a': 1} }}\n", "{{ {'a': 1} }}"),
        ("- {{ a }}\n", "{{ a }}"),
        ("{{ a }}\n", "{{ a }}"),
        ("a: [1, {{ b }}, 2]\n", "{{ b }}"),
        ("a: [{{ b[0] }}]\n", "{{ b[0] }}"),
        ("a: {b: {{ c }}, d: 1}\n", "{{ c }}"),
        ("a:\n  {{ b }}\n", "{{ b }}"),
        ("a: {{ b\n", "{{ b"),
        ("a: &x {{ b }}\n", "{{ b }}"),
    ],
)
def test_a_template_at_the_start_of_a_value_must_be_quoted(text: str, underlined: str) -> None:
    problem = problem_of(text)
    assert (problem.span.text, problem.message) == (underlined, TEMPLATE)


def test_the_help_quotes_the_template_with_the_quotes_it_needs() -> None:
    assert problem_of("if: {{ a }}\n").help == 'quote it: "{{ a }}"'
    assert problem_of('if: {{ a == "b" }}\n').help == "quote it: '{{ a == \"b\" }}'"
    assert problem_of("if: {{ a['b'] == \"c\" }}\n").help == "quote it: '{{ a[''b''] == \"c\" }}'"


def test_a_statement_at_the_start_of_a_value_must_be_quoted_too() -> None:
    assert brief(problem_of("a: {% if x %}b{% endif %}\n"))[2:] == (
        "{% if x %}b{% endif %}",
        "a value that begins with '{%' must be quoted",
    )


def test_all_unquoted_templates_are_reported_and_the_tree_is_read_as_if_they_were_quoted() -> None:
    document = parse("a: {{ x }}\nb: [{{ y[0] }}, 2]\nc: 'ok'\nd: {{ z }} {{ z }} # note\ne: !t 1\n")
    assert [(problem.span.line, problem.message[:10]) for problem in document.problems] == [
        (1, TEMPLATE[:10]),
        (2, TEMPLATE[:10]),
        (4, TEMPLATE[:10]),
        (5, "tags are n"),
    ]
    assert plain(document.root) == {
        "a": "{{ x }}",
        "b": ["{{ y[0] }}", 2],
        "c": "ok",
        "d": "{{ z }} {{ z }}",
        "e": 1,
    }


def test_templates_elsewhere_in_a_plain_or_quoted_value_are_fine() -> None:
    text = "a: Hello {{ x }}\nb: '{{ y }}'\nc: |\n  {{ z }}\n  if: {{ z }}\n"
    assert parse(text).problems == []
