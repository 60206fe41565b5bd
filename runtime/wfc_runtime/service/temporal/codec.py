"""Encrypts payloads and failures on their way to the Temporal server, and decrypts them on their way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import temporalio.api.common.v1 as common
from google.protobuf.message import DecodeError
from temporalio.api.failure.v1 import Failure
from temporalio.client import Client
from temporalio.converter import (
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
    PayloadConverter,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)

from wfc_runtime.errors import WfcError
from wfc_runtime.service.temporal.encryption import Keyring, UnreadableError, damaged

ENCODING = b"binary/wfc-aes256gcm"
KEY_ID = "wfc-key"
RUN = "wfc-run"
_PURPOSE = "payload"
_SHOWN = ("definition_missing", "temporal_key", "temporal_damaged", "temporal_clear")
"""Errors whose message has to reach processes that have no key; it names workflows, versions and key ids only."""
_OWN_TYPES = ("wfc", "again")
_HIDDEN_TYPE = "wfc_failed"


class Codec(PayloadCodec, WithSerializationContext):
    """Without a key it changes nothing, and says which key is missing when it meets an encrypted payload."""

    def __init__(self, keyring: Keyring, encrypted_only: bool = False, run: str | None = None) -> None:
        self.keyring = keyring
        self.encrypted_only = encrypted_only
        self._run = run
        """The run that the payloads belong to; None where the library does not say."""

    def with_context(self, context: SerializationContext) -> Self:
        return type(self)(self.keyring, self.encrypted_only, getattr(context, "workflow_id", None))

    async def encode(self, payloads: Sequence[common.Payload]) -> list[common.Payload]:
        return [self._encrypted(payload) for payload in payloads] if self.keyring else list(payloads)

    async def decode(self, payloads: Sequence[common.Payload]) -> list[common.Payload]:
        return [self._decrypted(payload) for payload in payloads]

    def _encrypted(self, payload: common.Payload) -> common.Payload:
        run = self._run or ""
        key_id, data = self.keyring.encrypt(payload.SerializeToString(), run, _PURPOSE)
        return common.Payload(
            metadata={"encoding": ENCODING, KEY_ID: key_id.encode(), RUN: run.encode()}, data=data
        )

    def _decrypted(self, payload: common.Payload) -> common.Payload:
        if payload.metadata.get("encoding") != ENCODING:
            if self.encrypted_only:
                raise UnreadableError(
                    "temporal_clear",
                    f"a payload of run {self._run or '?'} is not encrypted, and encrypted_only is set",
                    "Unset encrypted_only until the runs that began without a key have ended.",
                )
            return payload
        key_id, run = (_text(payload.metadata.get(name, b"")) for name in (KEY_ID, RUN))
        if run and self._run is not None and run != self._run:
            raise damaged(self._run, f"it belongs to run {run[:128]}")
        data = self.keyring.decrypt(key_id, payload.data, run, _PURPOSE)
        try:
            return common.Payload.FromString(data)
        except DecodeError:
            raise damaged(run, "it holds no payload") from None


def _text(metadata: bytes) -> str:
    return metadata.decode(errors="replace")


def keyring_of(client: Client) -> Keyring:
    """The keys that a client encrypts with."""
    codec = client.data_converter.payload_codec
    return codec.keyring if isinstance(codec, Codec) else Keyring()


class EncryptedFailures(DefaultFailureConverterWithEncodedAttributes):
    """Messages and stack traces become payloads. The type of an error may be an agent's text, and is replaced."""

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
