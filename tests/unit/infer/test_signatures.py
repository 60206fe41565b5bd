"""The table of signatures says what the runtime's own functions say."""

from __future__ import annotations

import inspect

import pytest

from wfc.analysis.types import builtins
from wfc.analysis.types.access import LOOP
from wfc.analysis.types.builtins import Signature
from wfc_runtime.expr import FILTERS, FUNCTIONS, METHODS, TESTS, Builtin
from wfc_runtime.expr.access import LOOP_FIELDS

KINDS = {"str": "text", "dict": "object", "list": "list", "datetime": "date", "date": "date", "Loop": "loop"}


def test_every_filter_test_and_function_has_a_signature_and_nothing_else_has() -> None:
    assert builtins.FILTERS.keys() == FILTERS.keys()
    assert builtins.TESTS.keys() == TESTS.keys()
    assert builtins.FUNCTIONS.keys() == FUNCTIONS.keys()


def test_every_method_has_a_signature_and_nothing_else_has() -> None:
    known: dict[str, set[str]] = {}
    for kind, methods in METHODS.items():
        known.setdefault(KINDS[kind.__name__], set()).update(methods)
    assert {kind: set(methods) for kind, methods in builtins.METHODS.items()} == known


def _parameters(call: object, hidden: int) -> tuple[list[tuple[str, bool]], bool]:
    found = list(inspect.signature(call).parameters.values())[hidden:]  # type: ignore[arg-type]
    named = [one for one in found if one.kind is one.POSITIONAL_OR_KEYWORD]
    return [(one.name, one.default is one.empty) for one in named], len(named) < len(found)


def _said(signature: Signature) -> tuple[list[tuple[str, bool]], bool]:
    return [(one.name, one.required) for one in signature.parameters], signature.rest


@pytest.mark.parametrize("builtin", FILTERS.values(), ids=lambda builtin: builtin.name)
def test_a_filter_takes_the_arguments_that_its_signature_says(builtin: Builtin) -> None:
    assert _said(builtins.FILTERS[builtin.name]) == _parameters(builtin.call, 2)


@pytest.mark.parametrize("builtin", TESTS.values(), ids=lambda builtin: builtin.name)
def test_a_test_takes_the_arguments_that_its_signature_says(builtin: Builtin) -> None:
    assert _said(builtins.TESTS[builtin.name]) == _parameters(builtin.call, 2)


def test_loop_has_the_fields_that_its_type_says() -> None:
    assert {prop.name for prop in LOOP.properties} == set(LOOP_FIELDS)
