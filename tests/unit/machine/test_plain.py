"""Values written down: the quick way gives what the plain one gives."""

from __future__ import annotations

import json
from json import encoder
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfc_runtime.machine import values

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(VALUES)
def test_a_value_is_written_as_the_library_writes_it(value: Any) -> None:
    text = values.to_text(value)
    assert text == json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    assert json.loads(text) == value


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {1, 2}, object()])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        values.to_text(value)


@pytest.mark.parametrize("other", [None, lambda options: None], ids=["none", "another signature"])
def test_a_python_with_another_encoder_does_it_in_the_plain_way(
    other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "c_make_encoder", other)
    assert values._lasting_encoder() == values._ENCODER.encode
