"""Authenticated encryption of the data that the Temporal server stores. This module does not import temporalio.

AES-256-GCM with a random nonce. Each run has its own key, derived from the operator's key and the run's id, so that the
number of payloads under one key stays far below the limit for random nonces. The ciphertext is bound to the run and to
its purpose: it can't be moved to another run, and a cancel reason can't be used as a payload.
"""

from __future__ import annotations

import hmac
import os
import re
import stat
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from wfc_runtime.errors import RequestError, StoreError
from wfc_runtime.service.temporal.settings import TemporalSettings

KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_ID_CHARACTERS = 16
_DOMAIN = b"wfc temporal 1"


class UnreadableError(StoreError):
    """Stored data that can't be decrypted here. The message names keys by id and contains none of the data."""


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
        """Returns the key id, and the nonce followed by the ciphertext."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # imported only if there is a key

        key = next(iter(self._keys.values()))
        nonce = os.urandom(_NONCE_BYTES)
        bound = _bound_data(key.id, run, purpose)
        return key.id, nonce + AESGCM(key.for_run(run)).encrypt(nonce, data, bound)

    def decrypt(self, key_id: str, data: bytes, run: str, purpose: str) -> bytes:
        """Decrypt. Raises `UnreadableError` for an unknown key and for data that was changed or moved."""
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


# The operator's encryption keys, from the environment or from a file.

IN_CLEAR = "no encryption key is set: the Temporal server stores inputs, results and secrets unencrypted"
SET_A_KEY = "Set WFC_TEMPORAL_KEY or key_file; docs/temporal.md has a section on encryption."
_MOST_BYTES = 64 * 1024
_FEWEST_VALUES = 12
"""The minimum number of different bytes in a key. 32 random bytes have about 30; fewer than 12 means a placeholder."""
_MAKE_ONE = "Make a key with: python3 -c 'import secrets; print(secrets.token_hex(32))'"


def read_keyring(settings: TemporalSettings) -> Keyring:
    """Read the keys. Raises `RequestError`, which never quotes a key."""
    if settings.key is not None:
        where, words = "WFC_TEMPORAL_KEY", re.findall(r"[^\s,]+", settings.key)
    elif settings.key_file is not None:
        where = f"the key file {settings.key_file}"
        lines = [line.strip() for line in _read(Path(settings.key_file).expanduser(), where).splitlines()]
        words = [line for line in lines if line and not line.startswith("#")]
    else:
        where, words = "", []
    if where and not words:
        raise _wrong(f"{where} has no key", _MAKE_ONE)
    if not words and settings.encrypted_only:
        raise _wrong(
            "encrypted_only is set, and there is no encryption key",
            "Set WFC_TEMPORAL_KEY or key_file, or unset encrypted_only.",
        )
    if words and find_spec("cryptography") is None:
        raise _wrong(
            "encryption needs the package cryptography, which is not installed",
            "Run: pip install 'wfc-compiler[temporal]'",
        )
    return Keyring(_keys(words, where))


def _keys(words: Sequence[str], where: str) -> list[Key]:
    found: dict[str, Key] = {}
    for number, word in enumerate(words, 1):
        key = Key(_secret(word, f"key {number} of {where}" if len(words) > 1 else f"the key in {where}"))
        if key.id in found:
            raise _wrong(
                f"key {number} of {where} repeats an earlier key, `{key.id}`",
                "Remove one of them; to change keys, put a new key first.",
            )
        found[key.id] = key
    return list(found.values())


def _secret(word: str, which: str) -> bytes:
    try:
        # Base64 keys have 43 or 44 characters, so a longer text of hexadecimal digits is hexadecimal.
        if len(word) > 44 and re.fullmatch(r"[0-9a-fA-F]+", word):
            secret = bytes.fromhex(word)
        else:
            standard = word.replace("-", "+").replace("_", "/").rstrip("=")
            secret = b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (ValueError, Base64Error):
        raise _wrong(f"{which} is neither hexadecimal nor base64", _MAKE_ONE) from None
    if len(secret) != KEY_BYTES:
        raise _wrong(f"{which} has {len(secret)} bytes; AES-256 needs {KEY_BYTES}", _MAKE_ONE)
    if len(set(secret)) < _FEWEST_VALUES:
        raise _wrong(f"{which} is not random: it has only {len(set(secret))} different bytes", _MAKE_ONE)
    return secret


def _read(path: Path, where: str) -> str:
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(opened, "rb") as file:
            _check_file(os.fstat(opened), where)
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise _wrong(f"{where} can't be read: {error.strerror}", "Check key_file.") from error
    if len(data) > _MOST_BYTES:
        raise _wrong(f"{where} has more than {_MOST_BYTES:,} bytes", "Put one key on each line.")
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise _wrong(f"{where} is not text", "Put one key on each line, in hexadecimal or base64.") from None


def _check_file(found: os.stat_result, where: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _wrong(f"{where} is not a regular file", "Check key_file.")
    if found.st_uid not in (os.geteuid(), 0):
        raise _wrong(f"{where} belongs to another user", "Use a file that you own.")
    if found.st_mode & 0o077:
        raise _wrong(
            f"{where} can be accessed by other users (mode {stat.S_IMODE(found.st_mode):o})",
            "Run chmod 600 on it; if others may have read it, make a new key.",
        )


def _wrong(message: str, hint: str) -> RequestError:
    return RequestError("temporal_settings", message, hint)
