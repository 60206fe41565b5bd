"""What crosses the wire comes out as it went in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from temporalio.converter import PayloadConverter

from wfc.config import ConfigError, load_config
from wfc_runtime.errors import RefusedError, StoreError
from wfc_runtime.service.temporal.codec import (
    cancel_reason,
    converter_of,
    error_of,
    from_error,
    read_cancel_reason,
    to_failure,
)
from wfc_runtime.service.temporal.encryption import NO_KEYS
from wfc_runtime.service.temporal.messages import Answer, CallResult, Seed


@pytest.fixture
def converter() -> PayloadConverter:
    return converter_of(NO_KEYS).payload_converter


@pytest.mark.parametrize(
    "value",
    [
        Seed("w", "d", inputs={"b": 1, "a": [None, True, 1.5]}, secrets=["s"], limits={"depth": 3}),
        Answer("build", {"stdout": "ä\u2028 'x'", "exit_code": 0}, "me", 1.25),
        CallResult({"workflow_id": "r", "next": "x"}, error={"code": "c"}, unsettled=["k"]),
    ],
)
def test_records_come_back_as_they_went_with_their_keys_in_order(
    converter: PayloadConverter, value: Any
) -> None:
    [payload] = converter.to_payloads([value])
    [back] = converter.from_payloads([payload], [type(value)])
    assert back == value
    [plain] = converter.from_payloads(converter.to_payloads([{"b": 1, "a": 2}]))
    assert list(plain) == ["b", "a"]


@pytest.mark.parametrize("value", [float("nan"), {"x": float("inf")}, {1, 2}, "\ud800"])
def test_what_is_no_json_is_not_sent(converter: PayloadConverter, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        converter.to_payloads([value])


def test_errors_keep_their_kind_code_message_and_hint() -> None:
    for error in (RefusedError("answered", "no", "do this"), StoreError("x", "y")):
        back = from_error(error_of(error))
        assert (type(back), back.code, str(back)) == (type(error), error.code, str(error))
        assert to_failure(error).details == (error_of(error),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (cancel_reason("too slow", "me"), ("too slow", "me", False)),
        (f"Cancel requested by workflow with reason: {cancel_reason('x', None, True)}", ("x", None, True)),
        ("typed by a person", ("typed by a person", None, False)),
        ("[1]", ("[1]", None, False)),
        (None, ("", None, False)),
    ],
)
def test_reasons_to_cancel_are_read_wherever_they_come_from(text: str | None, expected: Any) -> None:
    assert read_cancel_reason(text) == expected


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ('engine = "postgres"', 'engine must be "sqlite" or "temporal"'),
        ("[tool.wfc.temporal]\nadress = 'x'", "has no setting `adress`; did you mean `address`"),
        ("[tool.wfc.temporal]\napi_key = 'x'", "must not contain the API key; set WFC_TEMPORAL_API_KEY"),
        ("[tool.wfc.temporal]\ntls = 'yes'", "tls must be true or false"),
        ("[tool.wfc.temporal]\naddress = 7233", "address must be text"),
        ("temporal = 'x'", "must be a table"),
    ],
)
def test_settings_that_cannot_be_meant_are_named(tmp_path: Path, settings: str, why: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.wfc]\n{settings}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=why):
        load_config(tmp_path)


def test_settings_of_a_project_name_the_engine_and_the_server(tmp_path: Path) -> None:
    text = '[tool.wfc]\nengine = "temporal"\n[tool.wfc.temporal]\naddress = "a:1"\ntls = true\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    config = load_config(tmp_path)
    assert (config.engine, config.temporal) == ("temporal", {"address": "a:1", "tls": True})
