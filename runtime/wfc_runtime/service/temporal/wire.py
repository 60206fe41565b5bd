"""Conversion of values and errors to and from Temporal payloads."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

import temporalio.api.common.v1 as common
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)
from temporalio.exceptions import ApplicationError

from wfc_runtime import errors
from wfc_runtime.errors import StoreError, WfcError
from wfc_runtime.service.temporal.codec import Codec, EncryptedFailures
from wfc_runtime.service.temporal.encryption import Keyring

AGAIN = "again"
"""The type of the failure for a submit that was accepted before; its reply is still stored."""
_KINDS = {
    kind.__name__: kind
    for kind in (
        errors.RequestError,
        errors.NotFoundError,
        errors.RefusedError,
        errors.DefinitionError,
        errors.SnapshotError,
        errors.StoreError,
    )
}


class _Encoder(json.JSONEncoder):
    """Encodes plain JSON values, and dataclasses field by field."""

    def default(self, value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return {one.name: getattr(value, one.name) for one in fields(value)}
        return super().default(value)


class _Converter(JSONPlainPayloadConverter):
    def to_payload(self, value: Any) -> common.Payload:
        """Unlike Temporal's own converter, keeps the order of keys and refuses NaN."""
        text = _ENCODER.encode(value)
        return common.Payload(metadata={"encoding": b"json/plain"}, data=text.encode())

    def from_payload(self, payload: common.Payload, type_hint: type | None = None) -> Any:
        value = json.loads(payload.data)
        return type_hint(**value) if type_hint is not None and is_dataclass(type_hint) else value


_ENCODER = _Encoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class ContractConverter(CompositePayloadConverter):
    """Temporal's own converters, with ours for JSON."""

    def __init__(self) -> None:
        usual = DefaultPayloadConverter.default_encoding_payload_converters
        ours = _Converter()
        super().__init__(*(ours if one.encoding == ours.encoding else one for one in usual))


def converter_of(keyring: Keyring, encrypted_only: bool = False) -> DataConverter:
    """The converter that every client, worker and replayer has to use."""
    return DataConverter(
        payload_converter_class=ContractConverter,
        payload_codec=Codec(keyring, encrypted_only),
        failure_converter_class=EncryptedFailures if keyring else DefaultFailureConverter,
    )


def error_of(error: WfcError) -> dict[str, str]:
    return {
        "kind": type(error).__name__,
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
    }


def to_failure(error: WfcError) -> ApplicationError:
    return ApplicationError(error.message, error_of(error), type="wfc", non_retryable=True)


def from_error(data: dict[str, str]) -> WfcError:
    kind = _KINDS.get(data.get("kind", ""), StoreError)
    return kind(data.get("code", "temporal"), data.get("message", ""), data.get("hint", ""))
