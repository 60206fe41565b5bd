"""Validation rules of inputs that pydantic has no word for."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from wfc_runtime.machine import WorkflowObject, lenient, one_of, with_keys


class Options(WorkflowObject):
    schema_: Annotated[str | None, Field(alias="schema")] = None
    level: int = 1


def test_a_key_that_python_calls_otherwise_is_seen_under_its_own_name() -> None:
    adapter: TypeAdapter[Options] = TypeAdapter(Annotated[Options, with_keys("schema")])
    assert adapter.validate_python({"schema": "x"}).schema_ == "x"


def test_a_key_with_a_default_that_was_not_given_is_missing() -> None:
    adapter: TypeAdapter[Options] = TypeAdapter(Annotated[Options, with_keys("schema", "level")])
    with pytest.raises(ValidationError, match="must have 'schema', 'level'"):
        adapter.validate_python({})


def test_a_key_that_is_not_declared_counts_too() -> None:
    adapter: TypeAdapter[Options] = TypeAdapter(Annotated[Options, with_keys("my-key")])
    assert adapter.validate_python({"my-key": 1}).level == 1


@pytest.mark.parametrize(("value", "fits"), [(1, True), (2.5, True), (True, False), (3, False)])
def test_one_of_tells_numbers_from_booleans(value: Any, fits: bool) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Any, one_of(1, 2.5)])
    if fits:
        assert adapter.validate_python(value) == value
    else:
        with pytest.raises(ValidationError, match=r"must be one of 1, 2\.5"):
            adapter.validate_python(value)


@pytest.mark.parametrize(
    ("kind", "annotation", "value", "expected"),
    [
        ("number", int | float, "12", 12),
        ("number", int | float, "1.5", 1.5),
        ("number", int | float, 3, 3),
        ("boolean", bool, "true", True),
        ("boolean", bool, " No ", False),
        ("string", str, 5, "5"),
        ("string", str, True, "true"),
        ("array", list[Any], "[1]", [1]),
        ("object", dict[str, Any], '{"a": 1}', {"a": 1}),
    ],
)
def test_a_lenient_input_takes_what_means_the_same(
    kind: str, annotation: Any, value: Any, expected: Any
) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[annotation, lenient(kind)])
    assert adapter.validate_python(value, strict=True) == expected


@pytest.mark.parametrize(
    ("kind", "annotation", "value"),
    [
        ("number", int | float, "many"),
        ("boolean", bool, "perhaps"),
        ("array", list[Any], "{}"),
        ("string", str, []),
    ],
)
def test_a_lenient_input_still_refuses_what_does_not(kind: str, annotation: Any, value: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[annotation, lenient(kind)])
    with pytest.raises(ValidationError):
        adapter.validate_python(value, strict=True)
