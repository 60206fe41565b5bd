"""Payloads come back as they went in, or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DataConverter, WorkflowSerializationContext
from temporalio.exceptions import ApplicationError

from tests.temporal.keys import NEW, OLD, OTHER, id_of, ring
from wfc_runtime.errors import DefinitionError
from wfc_runtime.service.temporal.codec import (
    ENCODING,
    KEY_ID,
    RUN,
    Codec,
    cancel_reason,
    converter_of,
    read_cancel_reason,
)
from wfc_runtime.service.temporal.encryption import NO_KEYS, Keyring, UnreadableError
from wfc_runtime.service.temporal.host import MOST_BYTES
from wfc_runtime.service.temporal.workflow import MOST_REPLY

MARKER = "marker-5f1c"
PLAIN = Payload(metadata={"encoding": b"json/plain"}, data=f'"{MARKER}"'.encode())
TEMPORAL_LIMIT = 2 * 1024 * 1024


def codec(keys: Keyring, run: str | None = "r1", encrypted_only: bool = False) -> Codec:
    return Codec(keys, encrypted_only, run)


def encode(keys: Keyring, *payloads: Payload, run: str | None = "r1") -> list[Payload]:
    return asyncio.run(codec(keys, run).encode(payloads))


def decode(keys: Keyring, *payloads: Payload, run: str | None = "r1", **more: bool) -> list[Payload]:
    return asyncio.run(codec(keys, run, **more).decode(payloads))


def data_converter(keys: Keyring, run: str = "r1") -> DataConverter:
    return converter_of(keys).with_context(WorkflowSerializationContext("default", run))


@pytest.mark.parametrize(
    "value",
    [None, "", 0, False, [], {}, b"", b"\0\xff", MARKER, {"b": [1, None], "a": "ä\u2028"}, "x" * MOST_REPLY],
    ids=lambda value: repr(value)[:20],
)
def test_every_value_comes_back_and_none_is_readable_in_between(value: Any) -> None:
    converter = data_converter(ring(OLD))

    async def there_and_back() -> Any:
        [payload] = await converter.encode([value])
        assert payload.metadata["encoding"] == ENCODING
        assert MARKER.encode() not in payload.SerializeToString()
        return await converter.decode([payload])

    assert asyncio.run(there_and_back()) == [value]


def test_the_largest_run_and_reply_stay_below_temporal_s_limit_when_encrypted() -> None:
    for size in (MOST_BYTES, MOST_REPLY):
        plain = Payload(metadata={"encoding": b"json/plain"}, data=b"x" * size)
        [payload] = encode(ring(OLD), plain, run="r" * 128)
        assert payload.ByteSize() - plain.ByteSize() < 400
        assert payload.ByteSize() < TEMPORAL_LIMIT


def test_the_same_payload_is_encrypted_differently_each_time() -> None:
    [first, second] = encode(ring(OLD), PLAIN, PLAIN)
    assert first.data != second.data
    assert decode(ring(OLD), first, second) == [PLAIN, PLAIN]


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    [old], [new] = encode(ring(OLD), PLAIN), encode(ring(NEW, OLD), PLAIN)
    assert (old.metadata[KEY_ID], new.metadata[KEY_ID]) == (id_of(OLD).encode(), id_of(NEW).encode())
    assert decode(ring(NEW, OLD), old, new) == [PLAIN, PLAIN]
    assert decode(ring(OLD, NEW), old, new) == [PLAIN, PLAIN]


def test_payloads_from_before_there_was_a_key_stay_readable_unless_they_are_refused() -> None:
    assert decode(ring(OLD), PLAIN) == [PLAIN]
    with pytest.raises(UnreadableError, match="of run r1 is not encrypted, and encrypted_only is set"):
        decode(ring(OLD), PLAIN, encrypted_only=True)
    [payload] = encode(ring(OLD), PLAIN)
    assert decode(ring(OLD), payload, encrypted_only=True) == [PLAIN]


def test_without_a_key_nothing_changes() -> None:
    assert encode(NO_KEYS, PLAIN) == decode(NO_KEYS, PLAIN) == [PLAIN]


def changed(payload: Payload, **more: bytes) -> Payload:
    made = Payload()
    made.CopyFrom(payload)
    for name, value in more.items():
        if name == "data":
            made.data = value
        else:
            made.metadata[{"key": KEY_ID, "run": RUN, "encoding": "encoding"}[name]] = value
    return made


def flipped(data: bytes, place: int) -> bytes:
    made = bytearray(data)
    made[place] ^= 1
    return bytes(made)


DAMAGED = "is damaged or was written for another run"
BAD: dict[str, tuple[Callable[[Payload], Payload], str]] = {
    "damaged nonce": (lambda one: changed(one, data=flipped(one.data, 0)), DAMAGED),
    "damaged ciphertext": (lambda one: changed(one, data=flipped(one.data, 20)), DAMAGED),
    "damaged tag": (lambda one: changed(one, data=flipped(one.data, -1)), DAMAGED),
    "truncated by a byte": (lambda one: changed(one, data=one.data[:-1]), DAMAGED),
    "nonce and tag only": (lambda one: changed(one, data=one.data[:12] + one.data[-16:]), DAMAGED),
    "nonce only": (lambda one: changed(one, data=one.data[:12]), DAMAGED),
    "part of a nonce": (lambda one: changed(one, data=one.data[:5]), DAMAGED),
    "no data": (lambda one: changed(one, data=b""), DAMAGED),
    "more data": (lambda one: changed(one, data=one.data + b"\0"), DAMAGED),
    "twice": (lambda one: changed(one, data=one.data * 2), DAMAGED),
    "clear text": (lambda one: changed(one, data=PLAIN.SerializeToString()), DAMAGED),
    "no key id": (lambda one: changed(one, key=b""), "encrypted with key ``, which is not among"),
    "unknown key id": (lambda one: changed(one, key=b"feedfeedfeedfeed"), "`feedfeedfeedfeed`, which is not"),
    "key id of another key": (lambda one: changed(one, key=id_of(NEW).encode()), DAMAGED),
    "key id of odd bytes": (lambda one: changed(one, key=b"\xff\0"), "which is not among the keys here"),
    "huge key id": (lambda one: changed(one, key=b"k" * 10_000), "which is not among the keys here"),
    "run removed": (lambda one: changed(one, run=b""), DAMAGED),
    "of another run": (lambda one: encode(ring(OLD), PLAIN, run="r2")[0], "it belongs to run r2"),
    "of another run, renamed": (
        lambda one: changed(encode(ring(OLD), PLAIN, run="r2")[0], run=b"r1"),
        DAMAGED,
    ),
    "of a key that is not here": (lambda one: encode(ring(OTHER), PLAIN)[0], f"with key `{id_of(OTHER)}`"),
    "a cancel reason": (
        lambda one: changed(one, data=ring(OLD).encrypt(PLAIN.SerializeToString(), "r1", "reason")[1]),
        DAMAGED,
    ),
    "not a payload inside": (
        lambda one: changed(one, data=ring(OLD).encrypt(b"\xff\xff\xff", "r1", "payload")[1]),
        "it does not contain a payload",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_payload_that_was_changed_is_refused_and_nothing_of_it_is_quoted(name: str) -> None:
    make, why = BAD[name]
    [payload] = encode(ring(OLD), PLAIN)
    with pytest.raises(UnreadableError, match=why) as caught:
        decode(ring(OLD, NEW), make(payload))
    assert MARKER not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_one_bad_payload_among_good_ones_is_refused() -> None:
    [first, second] = encode(ring(OLD), PLAIN, PLAIN)
    with pytest.raises(UnreadableError):
        decode(ring(OLD), first, changed(second, data=b""))


def test_without_a_key_an_encrypted_payload_is_refused_with_the_key_s_id() -> None:
    [payload] = encode(ring(OLD), PLAIN)
    with pytest.raises(UnreadableError) as caught:
        decode(NO_KEYS, payload)
    assert caught.value.code == "temporal_key"
    assert f"with key `{id_of(OLD)}`, which is missing: no key is set here" in caught.value.message
    assert "WFC_TEMPORAL_KEY" in caught.value.hint


def test_an_encoding_of_somebody_else_s_is_left_to_the_converters() -> None:
    foreign = Payload(metadata={"encoding": b"binary/encrypted"}, data=b"x")
    assert decode(ring(OLD), foreign) == [foreign]
    assert decode(ring(OLD), Payload()) == [Payload()]


def test_where_the_library_names_no_run_the_payload_s_own_is_used() -> None:
    [payload] = encode(ring(OLD), PLAIN)
    assert decode(ring(OLD), payload, run=None) == [PLAIN]
    [unbound] = encode(ring(OLD), PLAIN, run=None)
    assert decode(ring(OLD), unbound) == [PLAIN]


# -- failures --------------------------------------------------------------------


def failure_of(error: BaseException, keys: Keyring) -> Failure:
    made = Failure()
    asyncio.run(data_converter(keys).encode_failure(error, made))
    return made


def caused(error: BaseException) -> BaseException:
    """With a stack trace and a cause."""
    try:
        try:
            raise ValueError(MARKER)
        except ValueError as cause:
            raise error from cause
    except BaseException as raised:
        return raised


def test_a_failure_hides_messages_causes_details_and_the_agent_s_own_codes() -> None:
    error = ApplicationError(MARKER, {"inside": MARKER}, type=MARKER, non_retryable=True)
    made = failure_of(caused(error), ring(OLD))
    assert MARKER.encode() not in made.SerializeToString()
    assert made.application_failure_info.non_retryable
    back: Any = asyncio.run(data_converter(ring(OLD)).decode_failure(made))
    assert (back.message, back.details) == (MARKER, ({"inside": MARKER},))
    assert back.cause.message == MARKER
    assert MARKER.encode() in failure_of(caused(error), NO_KEYS).SerializeToString()


@pytest.mark.parametrize("kind", ["wfc", "again"])
def test_the_types_that_clients_go_by_are_kept(kind: str) -> None:
    assert failure_of(ApplicationError("x", type=kind), ring(OLD)).application_failure_info.type == kind


def test_what_a_worker_lacks_can_be_read_without_a_key_and_has_no_cause_or_stack() -> None:
    for error in (
        DefinitionError("definition_missing", "the worker has no version 12 of `w`"),
        UnreadableError("temporal_key", "data of run r1 is encrypted with key `12`"),
    ):
        made = failure_of(caused(error), ring(OLD))
        assert made.message == str(error)
        assert MARKER.encode() not in made.SerializeToString()
        assert made.stack_trace == ""
    assert failure_of(DefinitionError("module", MARKER), ring(OLD)).message == "Encoded failure"


# -- reasons to cancel ---------------------------------------------------------


@pytest.mark.parametrize(
    "reason", ["", "too slow", f"{MARKER} with reason: {MARKER}", "ä" * 2000, "{}", "null"]
)
@pytest.mark.parametrize("keys", [NO_KEYS, ring(OLD)], ids=["clear", "encrypted"])
def test_a_cancel_reason_is_read_as_it_was_given(reason: str, keys: Keyring) -> None:
    text = cancel_reason(reason, "me", run="r1", keyring=keys)
    assert (json.dumps(reason) in text) is (not keys)
    for sent in (text, f"Cancel requested by workflow with reason: {text}"):
        assert read_cancel_reason(sent, "r1", keys) == (reason, "me", False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (cancel_reason(MARKER, None, run="r2", keyring=ring(OLD)), DAMAGED),
        (cancel_reason(MARKER, None, run="r1", keyring=ring(OTHER)), f"with key `{id_of(OTHER)}`"),
        ("wfc-encrypted:", "with key ``"),
        (f"wfc-encrypted:{id_of(OLD)}", DAMAGED),
        (f"wfc-encrypted:{id_of(OLD)}:!!", "is not base64"),
        (f"wfc-encrypted:{id_of(OLD)}:AAAA", DAMAGED),
    ],
)
def test_a_cancel_reason_that_was_changed_is_refused(text: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        read_cancel_reason(text, "r1", ring(OLD))


def test_a_reason_typed_by_a_person_is_read_with_a_key_too() -> None:
    texts: Sequence[str | None] = ("typed by a person", "[1]", "", None)
    for text in texts:
        assert read_cancel_reason(text, "r1", ring(OLD)) == (text or "", None, False)
