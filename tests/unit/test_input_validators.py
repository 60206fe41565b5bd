"""Validation rules of inputs that pydantic has no word for."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from wfc_runtime.machine import WorkflowObject, one_of, with_keys


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
