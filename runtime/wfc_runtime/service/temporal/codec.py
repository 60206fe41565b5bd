"""Temporal payloads: conversion of values, errors and cancel reasons, and their encryption."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Self

import temporalio.api.common.v1 as common
from google.protobuf.message import DecodeError
from temporalio.api.failure.v1 import Failure
from temporalio.client import Client
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverter,
    DefaultFailureConverterWithEncodedAttributes,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
    PayloadCodec,
    PayloadConverter,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)
from temporalio.exceptions import ApplicationError

from wfc_runtime import errors
from wfc_runtime.errors import StoreError, WfcError
from wfc_runtime.service.temporal.encryption import NO_KEYS, Keyring, UnreadableError, damaged

# Cancel reasons. Temporal stores one text for the reason and the actor, which no payload codec sees.

_ENCRYPTED = "wfc-encrypted:"
_REASON_PURPOSE = "reason"


def cancel_reason(
    reason: str,
    actor: str | None,
    by_parent: bool = False,
    run: str = "",
    keyring: Keyring = NO_KEYS,
    keeps: bool = False,
) -> str:
    """The text for Temporal; encrypted if there is a key. `keeps`: the run continues when its parent is retried."""
    data = {"reason": reason, "actor": actor, "by_parent": by_parent}
    text = json.dumps({**data, "keeps": True} if keeps else data)
    if not keyring:
        return text
    key_id, sealed = keyring.encrypt(text.encode(), run, _REASON_PURPOSE)
    return f"{_ENCRYPTED}{key_id}:{b64encode(sealed).decode()}"


def read_cancel_reason(
    text: str | None, run: str = "", keyring: Keyring = NO_KEYS
) -> tuple[str, str | None, bool]:
    """Reason, actor, and whether the parent cancelled the run. Any other text, such as one typed into Temporal's own
    tools, is a reason without an actor."""
    try:
        data = _cancel_data(text, run, keyring)
        return str(data["reason"]), data["actor"], bool(data["by_parent"])
    except (TypeError, KeyError):
        return text or "", None, False


def continues_with_parent(text: str | None, run: str, keyring: Keyring) -> bool:
    """Whether a run was cancelled because its parent failed, and continues when that is retried."""
    return bool(_cancel_data(text, run, keyring).get("keeps"))


def _cancel_data(text: str | None, run: str, keyring: Keyring) -> dict[str, Any]:
    # When one workflow cancels another, the server prefixes the reason with its own sentence.
    for candidate in (text or "", (text or "").partition(" with reason: ")[2]):
        try:
            data = json.loads(_decrypted(candidate, run, keyring))
        except ValueError:
            continue
        if isinstance(data, dict):
            return data
    return {}


def _decrypted(text: str, run: str, keyring: Keyring) -> str:
    if not text.startswith(_ENCRYPTED):
        return text
    key_id, _, data = text.removeprefix(_ENCRYPTED).partition(":")
    try:
        sealed = b64decode(data, validate=True)
    except ValueError:
        raise damaged(run, "the cancel reason is not base64") from None
    return keyring.decrypt(key_id, sealed, run, _REASON_PURPOSE).decode()


# Encryption of payloads and failures.

ENCODING = b"binary/wfc-aes256gcm"
KEY_ID = "wfc-key"
RUN = "wfc-run"
_PAYLOAD_PURPOSE = "payload"
_SHOWN = ("definition_missing", "temporal_key", "temporal_damaged", "temporal_clear")
"""Errors whose message must reach processes without a key; it contains only workflows, versions and key ids."""
_OWN_TYPES = ("wfc", "again")
_HIDDEN_TYPE = "wfc_failed"


class Codec(PayloadCodec, WithSerializationContext):
    """Encrypts payloads. Without a key it changes nothing; for an encrypted payload it reports the missing key."""

    def __init__(self, keyring: Keyring, encrypted_only: bool = False, run: str | None = None) -> None:
        self.keyring = keyring
        self.encrypted_only = encrypted_only
        self._run = run
        """The run that the payloads belong to; None if the library does not provide it."""

    def with_context(self, context: SerializationContext) -> Self:
        return type(self)(self.keyring, self.encrypted_only, getattr(context, "workflow_id", None))

    async def encode(self, payloads: Sequence[common.Payload]) -> list[common.Payload]:
        return [self._encrypted(payload) for payload in payloads] if self.keyring else list(payloads)

    async def decode(self, payloads: Sequence[common.Payload]) -> list[common.Payload]:
        return [self._decrypted(payload) for payload in payloads]

    def _encrypted(self, payload: common.Payload) -> common.Payload:
        run = self._run or ""
        key_id, data = self.keyring.encrypt(payload.SerializeToString(), run, _PAYLOAD_PURPOSE)
        return common.Payload(
            metadata={"encoding": ENCODING, KEY_ID: key_id.encode(), RUN: run.encode()}, data=data
        )

    def _decrypted(self, payload: common.Payload) -> common.Payload:
        if payload.metadata.get("encoding") != ENCODING:
            if self.encrypted_only:
                raise UnreadableError(
                    "temporal_clear",
                    f"a payload of run {self._run or '?'} is not encrypted, and encrypted_only is set",
                    "Unset encrypted_only until the runs that were started without a key have ended.",
                )
            return payload
        key_id, run = (_text(payload.metadata.get(name, b"")) for name in (KEY_ID, RUN))
        # The ciphertext is bound to the run that is named in plain text; this check binds that name to the execution.
        if run and self._run is not None and run != self._run:
            raise damaged(self._run, f"it belongs to run {run[:128]}")
        data = self.keyring.decrypt(key_id, payload.data, run, _PAYLOAD_PURPOSE)
        try:
            return common.Payload.FromString(data)
        except DecodeError:
            raise damaged(run, "it does not contain a payload") from None


def _text(metadata: bytes) -> str:
    return metadata.decode(errors="replace")


def keyring_of(client: Client) -> Keyring:
    """The keys that a client encrypts with."""
    codec = client.data_converter.payload_codec
    return codec.keyring if isinstance(codec, Codec) else Keyring()


class EncryptedFailures(DefaultFailureConverterWithEncodedAttributes):
    """Encrypts messages and stack traces. The type of an error may be text from an agent, so it is replaced."""

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        if isinstance(exception, WfcError) and exception.code in _SHOWN:
            failure.message = str(exception)
            failure.application_failure_info.type = type(exception).__name__
            return
        super().to_failure(exception, payload_converter, failure)
        info = failure.application_failure_info
        if failure.HasField("application_failure_info") and info.type not in _OWN_TYPES:
            info.type = _HIDDEN_TYPE


async def failure_text(client: Client, run: str, failure: Failure) -> str:
    """The message of a failure that a process with the same keys has encoded."""
    if not failure.HasField("encoded_attributes"):
        return failure.message
    context = WorkflowSerializationContext(namespace=client.namespace, workflow_id=run)
    copy = Failure()
    copy.CopyFrom(failure)
    return str(await client.data_converter.with_context(context).decode_failure(copy))


# Conversion of values and errors.

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
        """Unlike Temporal's own converter, this one keeps the order of keys and refuses NaN."""
        text = _ENCODER.encode(value)
        return common.Payload(metadata={"encoding": b"json/plain"}, data=text.encode())

    def from_payload(self, payload: common.Payload, type_hint: type | None = None) -> Any:
        value = json.loads(payload.data)
        return type_hint(**value) if type_hint is not None and is_dataclass(type_hint) else value


_ENCODER = _Encoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class ContractConverter(CompositePayloadConverter):
    """Temporal's converters, with our own for JSON."""

    def __init__(self) -> None:
        usual = DefaultPayloadConverter.default_encoding_payload_converters
        ours = _Converter()
        super().__init__(*(ours if one.encoding == ours.encoding else one for one in usual))


def converter_of(keyring: Keyring, encrypted_only: bool = False) -> DataConverter:
    """The converter that every client, worker and replayer must use."""
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
        "next_call": error.next_call,
    }


def to_failure(error: WfcError) -> ApplicationError:
    return ApplicationError(error.message, error_of(error), type="wfc", non_retryable=True)


def from_error(data: dict[str, str]) -> WfcError:
    kind = _KINDS.get(data.get("kind", ""), StoreError)
    code, message = data.get("code", "temporal"), data.get("message", "")
    return kind(code, message, data.get("hint", ""), data.get("next_call", ""))
