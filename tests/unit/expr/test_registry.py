"""The tables of names are complete and documented."""

import jinja2.filters
import jinja2.tests
import pytest

from wfc_runtime.expr import FILTERS, FUNCTIONS, METHODS, TESTS

SPECIFIED = (
    "split strip upper lower replace select selectattr list length first last join map default int float"
    " string bool round regex_search regex_findall regex_replace parse_json tojson hash shquote"
)


def test_everything_specified_is_there() -> None:
    assert set(SPECIFIED.split()) <= FILTERS.keys()
    assert {"equalto", "greaterthan", "lessthan", "defined", "undefined"} <= TESTS.keys()
    assert {"now", "uuid", "range", "dict", "namespace", "get", "render", "secret"} == FUNCTIONS.keys()


def test_every_filter_and_test_of_jinja_is_there() -> None:
    assert jinja2.filters.FILTERS.keys() <= FILTERS.keys()
    assert jinja2.tests.TESTS.keys() <= TESTS.keys()


@pytest.mark.parametrize("table", [FILTERS, TESTS, FUNCTIONS])
def test_everything_has_a_line_of_documentation(table: dict[str, object]) -> None:
    for name, builtin in table.items():
        doc = getattr(builtin, "doc")  # noqa: B009
        assert doc.startswith("`"), name
        assert "`: " in doc, name
        assert "\n" not in doc


def test_methods_are_listed_by_kind() -> None:
    assert {"get", "items", "keys", "values"} == METHODS[dict].keys()
    assert "append" not in METHODS[list]
    assert not any(name.startswith("_") for methods in METHODS.values() for name in methods)
