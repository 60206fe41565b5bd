import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment, TemplateSyntaxError, nodes

from wfc.template import Template, parse_template


def names(text: str, kind: str) -> list[str]:
    found = getattr(parse_template(text), kind)
    for use in found:
        assert text[use.start : use.end] == use.name
    return [use.name for use in found]


def test_a_text_without_holes_is_a_literal() -> None:
    template = parse_template("just { text }")
    assert template.is_literal
    assert not template.lone
    assert template.ast is None
    assert template.error is None
    assert template.reads == []


def test_a_lone_hole_is_known_as_such() -> None:
    assert parse_template(" {{ x }}\n").lone
    assert isinstance(parse_template("{{ x }}").expression, nodes.Name)
    assert not parse_template("a {{ x }}").lone
    assert parse_template("a {{ x }}").expression is None


def test_a_broken_template_has_an_error_and_nothing_else() -> None:
    template = parse_template("a {{ b.c ")
    assert template.error is not None
    assert (template.error.start, template.error.end) == (2, 4)
    assert template.ast is None
    assert template.reads == []
    assert not template.is_literal


def test_the_same_text_is_read_once() -> None:
    assert parse_template("{{ x }}") is parse_template("{{ x }}")


def test_filters_tests_and_functions_in_use() -> None:
    text = "{{ a | stip | map('uper') | selectattr('k', 'eqalto', now()) | d(b is not nonee) }}{{ uid() }}"
    assert names(text, "filters") == ["stip", "map", "uper", "selectattr", "d"]
    assert names(text, "tests") == ["eqalto", "nonee"]
    assert names(text, "functions") == ["now", "uid"]
    assert names("{% set x | uper %}{% endset %}", "filters") == ["uper"]
    assert names("{{ x | map(f) | select }}", "filters") == ["map", "select"]


@pytest.mark.parametrize(
    ("text", "kind", "token", "whole"),
    [
        ("{{ a.b['c'] | join(', ', x) }}", nodes.Filter, "join", "a.b['c'] | join(', ', x)"),
        ("{{ 1 + (a - b) * 2 }}", nodes.Sub, "a", "a - b"),
        ("{{ 1 + (a - b) * 2 }}", nodes.Mul, "(", "(a - b) * 2"),
        ("{{ x and a.b > 3 }}", nodes.Compare, "b", "a.b > 3"),
        ("{{ f( a , 1 ) }}", nodes.Call, "(", "f( a , 1 )"),
        ("{{ a is not divisibleby(3) }}", nodes.Test, "divisibleby", "a is not divisibleby(3)"),
        ("{{ a.b.c }}", nodes.Getattr, "c", "a.b.c"),
        ("{{ a[ 1 ] }}", nodes.Getitem, "[", "a[ 1 ]"),
        ("{{ [1, {'a': 2}] }}", nodes.Dict, "{", "{'a': 2}"),
        ("{{ 'x' if a else b }}", nodes.CondExpr, "'x'", "'x' if a else b"),
    ],
)
def test_nodes_lead_back_to_the_text(text: str, kind: type[nodes.Node], token: str, whole: str) -> None:
    template = parse_template(text)
    assert template.ast is not None
    node = next(template.ast.find_all(kind), None)
    assert node is not None
    start, end = template.token_span(node)
    assert text[start:end] == token
    start, end = template.span(node)
    assert text[start:end] == whole


SOUP = """
    {{ }} {% %} {# #} {{- -}} {%- -%} {%+ +%} if else elif endif for in endfor set endset not and or is
    defined none true state inputs x a loop 1 2.5 's' "t" '\\d' r'x' . [ ] ( ) { } , : | ~ + - * / // % ** ==
    != < <= = raw endraw default recursive é _p 0x1f 1_000 text
"""
WORDS = SOUP.split()
JINJA = Environment(optimized=False, keep_trailing_newline=True)


def soup() -> st.SearchStrategy[str]:
    """Texts that look like templates, some of which are."""
    words = st.sampled_from([*WORDS, " ", "\n", "\r\n", "'"])
    inner = st.lists(st.sampled_from(WORDS[12:]), max_size=9).map(" ".join)
    hole = inner.map(lambda text: "{{ " + text + " }}")
    return st.one_of(
        st.text(),
        st.lists(words, max_size=14).map("".join),
        hole,
        st.tuples(st.text(max_size=5), hole, st.text(max_size=5), hole).map("".join),
    )


@settings(max_examples=400, deadline=None)
@given(soup())
def test_any_text_can_be_read_and_every_name_is_where_it_says(text: str) -> None:
    template = Template(text)
    for read in template.reads:
        assert text[read.start :].startswith(read.root)
        for part in read.path:
            shown = text[part.start : part.end]
            if isinstance(part.name, str) and shown[-1:] not in ("'", '"'):
                assert shown == part.name
            elif isinstance(part.name, int):
                assert int(shown, 0) == part.name
    for use in template.filters + template.tests + template.functions:
        assert text[use.start : use.end].replace(" ", "").startswith(use.name.partition(".")[0])
    if template.error is not None:
        assert 0 <= template.error.start <= template.error.end <= len(text)
        assert template.error.message
    if template.ast is not None:
        for node in template.ast.find_all(nodes.Expr):
            start, end = template.span(node)
            assert 0 <= start < end <= len(text)


def dump(node: object) -> object:
    if isinstance(node, nodes.Node):
        return type(node).__name__, [(name, dump(getattr(node, name))) for name in node.fields]
    return [dump(item) for item in node] if isinstance(node, list) else node


@settings(max_examples=200, deadline=None)
@given(soup())
def test_the_grammar_is_jinjas(text: str) -> None:
    template = Template(text)
    if template.ast is None or "\r" in text or "\\" in text or "r'" in text:
        return
    assert dump(template.ast) == dump(JINJA.parse(text))


@settings(max_examples=200, deadline=None)
@given(soup())
def test_what_jinja_can_not_read_has_an_error(text: str) -> None:
    try:
        JINJA.parse(text)
    except TemplateSyntaxError:
        assert Template(text).error is not None or "r'" in text or "\\" in text
    except Exception:
        assert Template(text).error is not None


@pytest.mark.parametrize("depth", [10, 500, 5000])
def test_no_text_exhausts_the_stack(depth: int) -> None:
    for opener, closer in (
        ("(", ")"),
        ("[", "]"),
        ("{'a':", "}"),
        ("f(", ")"),
        ("not ", ""),
        ("-", ""),
        ("x[", "]"),
    ):
        template = parse_template("{{ " + opener * depth + "1" + closer * depth + " }}")
        assert template.error is None or depth > 10
    for link in ("+x", ".x", "[x]", "|f", " is t", " if x else x", "~x", " and x", "(x)", "<x"):
        parse_template("{{ x" + link * depth + " }}").reads.copy()
    for tag, end in (("if x", "endif"), ("for x in y", "endfor"), ("set x", "endset")):
        parse_template(f"{{% {tag} %}}" * depth + f"{{% {end} %}}" * depth).reads.copy()


def test_a_nearly_full_stack_gives_an_error_not_a_crash() -> None:
    def descend(left: int) -> Template:
        return descend(left - 1) if left else Template("{{ " + "(" * 25 + "1" + ")" * 25 + " }}")

    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    template = descend(sys.getrecursionlimit() - depth - 60)
    assert template.error is not None
    assert template.error.message == "nested too deeply"
