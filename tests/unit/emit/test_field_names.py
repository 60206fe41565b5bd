"""Attributes for inputs and fields whatever they are called."""

from __future__ import annotations

import keyword
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from wfc.lower.names import MODEL_NAMES, field_name, field_names


def test_the_names_of_pydantic_are_the_real_ones() -> None:
    assert {name for name in dir(BaseModel) if not name.startswith("_")} == MODEL_NAMES


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("total", "total"),
        ("model_name", "model_name"),
        ("class", "class_"),
        ("None", "None_"),
        ("dict", "dict_"),
        ("dict_", "dict__"),
        ("schema", "schema_"),
        ("model_config", "model_config_"),
        ("model_dump", "field_model_dump"),
        ("ShellResult", "ShellResult_"),
        ("content-type", "content_type"),
        ("_hidden", "field__hidden"),
        ("1st", "field_1st"),
        ("", "field_"),
    ],
)
def test_a_name_stays_as_close_as_it_can(name: str, attribute: str) -> None:
    assert field_name(name) == attribute


@given(
    st.lists(st.text(max_size=10) | st.sampled_from(sorted(MODEL_NAMES)) | st.sampled_from(keyword.kwlist))
)
def test_any_keys_make_a_model_that_takes_them_by_their_own_names(keys: list[str]) -> None:
    attributes = field_names(keys)
    assert len(set(attributes.values())) == len(set(keys))
    fields = {name: (int, Field(alias=key)) for key, name in attributes.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = create_model("Model", **fields)  # type: ignore[call-overload]
    value = model.model_validate(dict.fromkeys(keys, 1))
    assert value.model_dump(by_alias=True) == dict.fromkeys(keys, 1)
