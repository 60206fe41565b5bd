"""Whatever the template and the values: JSON comes out, or an ExpressionError."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wfc_runtime.expr import FILTERS, FUNCTIONS, METHODS, TESTS, ExpressionError, ExprLimits

from .support import ev

LIMITS = ExprLimits(fuel=20_000, room=1_000_000, text=10_000, items=1000, output=10_000, value=10_000)
NAMES = sorted({*FILTERS, *FUNCTIONS, *(name for methods in METHODS.values() for name in methods)})
PREDICATES = sorted(name for name in TESTS if name.isidentifier())


def json_values() -> st.SearchStrategy[Any]:
    scalars = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["a b", "[1]", "7"]),
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text("abk", max_size=2), inner, max_size=4)
        ),
        max_leaves=8,
    )


def expressions() -> st.SearchStrategy[str]:
    """Any value through any filter, test, method or operator, whether it fits or not."""
    atoms = st.sampled_from(
        ["x", "y", "x.a", "x[0]", "y['k']", "'a'", "''", "3", "-1", "2.5", "none", "[1, 'b']", "{}"]
    )

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        name = st.sampled_from(NAMES)
        args = st.lists(st.one_of(inner, inner.map(lambda arg: f"attribute={arg}")), max_size=3).map(
            ", ".join
        )
        operator = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "in", "and", "or"])
        return st.one_of(
            st.builds("({} | {}({}))".format, inner, name, args),
            st.builds("({} | {})".format, inner, name),
            st.builds("({}).{}({})".format, inner, name, args),
            st.builds("({} is {}({}))".format, inner, st.sampled_from(PREDICATES), args),
            st.builds("({} {} {})".format, inner, operator, inner),
            st.builds("({})[{}:{}]".format, inner, inner, inner),
            st.builds("({} | map('{}', {}))".format, inner, name, inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
        )

    return st.recursive(atoms, grow, max_leaves=6)


def check(error: ExpressionError, text: str) -> None:
    # That is what an exception of any other kind would be turned into.
    assert "can't be evaluated" not in error.message
    assert error.start is not None
    assert error.end is not None
    assert 0 <= error.start <= error.end <= len(text)


@settings(max_examples=150, deadline=None)
@given(expressions(), json_values(), json_values())
def test_a_template_gives_json_or_an_expression_error(expression: str, x: Any, y: Any) -> None:
    before = repr((x, y))
    for text in ("{{ " + expression + " }}", "{% for i in " + expression + " %}{{ i }}{% endfor %}"):
        try:
            result = ev(text, LIMITS, x=x, y=y)
        except ExpressionError as error:
            check(error, text)
        else:
            assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert repr((x, y)) == before
