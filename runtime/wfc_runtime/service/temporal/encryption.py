"""Authenticated encryption of what the Temporal server stores. Nothing of Temporal's is imported here.

AES-256-GCM with a random nonce. Each run has a key of its own, derived from the operator's key and the run's id, so
that the number of payloads under one key stays far below the limit of random nonces. The ciphertext is bound to the
run and to its purpose: it can't be moved to another run, and a cancel reason can't stand in for a payload.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from wfc_runtime.errors import StoreError

KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_ID_CHARACTERS = 16
_DOMAIN = b"wfc temporal 1"


class UnreadableError(StoreError):
    """Stored data that can't be decrypted here. The message names keys by id and has nothing of the data."""


@dataclass(frozen=True)
class Key:
    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """Names the key in payloads and messages; it does not reveal the key."""
        return sha256(_DOMAIN + b" key id\0" + self.secret).hexdigest()[:_ID_CHARACTERS]

    def for_run(self, run: str) -> bytes:
        return hmac.digest(self.secret, _DOMAIN + b" run\0" + run.encode(), "sha256")


class Keyring:
    """The first key encrypts, every key decrypts. Without a key, nothing is encrypted."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys = {key.id: key for key in keys}

    def __bool__(self) -> bool:
        return bool(self._keys)

    @property
    def ids(self) -> list[str]:
        return list(self._keys)

    def encrypt(self, data: bytes, run: str, purpose: str) -> tuple[str, bytes]:
        """The id of the key, and nonce and ciphertext in one."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # only where there is a key

        key = next(iter(self._keys.values()))
        nonce = os.urandom(_NONCE_BYTES)
        bound = _bound_data(key.id, run, purpose)
        return key.id, nonce + AESGCM(key.for_run(run)).encrypt(nonce, data, bound)

    def decrypt(self, key_id: str, data: bytes, run: str, purpose: str) -> bytes:
        """Raises `UnreadableError`."""
        key = self._keys.get(key_id)
        if key is None:
            raise self._unknown(key_id, run)
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce, sealed = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        try:
            if len(sealed) < _TAG_BYTES:
                raise InvalidTag
            return AESGCM(key.for_run(run)).decrypt(nonce, sealed, _bound_data(key.id, run, purpose))
        except InvalidTag:
            raise damaged(run, f"it does not decrypt with key `{key.id}`") from None

    def _unknown(self, key_id: str, run: str) -> UnreadableError:
        if self._keys:
            known = ", ".join(f"`{one}`" for one in self._keys)
            here, do = f"not among the keys here ({known})", "Add that key after the first one, in"
        else:
            here, do = "missing: no key is set here", "Set the keys that the other processes use, in"
        return UnreadableError(
            "temporal_key",
            f"data of run {run or '?'} is encrypted with key `{key_id[:64]}`, which is {here}",
            f"{do} WFC_TEMPORAL_KEY or the file that key_file names.",
        )


NO_KEYS = Keyring()


def damaged(run: str, why: str) -> UnreadableError:
    return UnreadableError(
        "temporal_damaged",
        f"encrypted data of run {run or '?'} is damaged or was written for another run: {why}",
        "Restore the history from a backup, or terminate the run.",
    )


def _bound_data(key_id: str, run: str, purpose: str) -> bytes:
    return b"\0".join([_DOMAIN, purpose.encode(), key_id.encode(), run.encode()])
