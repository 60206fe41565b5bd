"""Reads the operator's encryption keys from the environment or from a file."""

from __future__ import annotations

import os
import re
import stat
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from wfc_runtime.errors import RequestError
from wfc_runtime.service.temporal.encryption import KEY_BYTES, Key, Keyring
from wfc_runtime.service.temporal.settings import TemporalSettings

IN_CLEAR = "no encryption key is set: the Temporal server stores inputs, results and secrets in clear"
SET_A_KEY = "Set WFC_TEMPORAL_KEY or key_file; docs/temporal.md has a section on encryption."
_MOST_BYTES = 64 * 1024
_FEWEST_VALUES = 12
"""Different bytes in a key. 32 random bytes have about 30; fewer than 12 means a placeholder."""
_MAKE_ONE = "Make a key with: python3 -c 'import secrets; print(secrets.token_hex(32))'"


def read_keyring(settings: TemporalSettings) -> Keyring:
    """Raises `RequestError`, which never quotes a key."""
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
                f"key {number} of {where} is a repetition of an earlier key, `{key.id}`",
                "Remove one of them; to change keys, put a new key first.",
            )
        found[key.id] = key
    return list(found.values())


def _secret(word: str, which: str) -> bytes:
    try:
        # A key in base64 has 43 or 44 characters.
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
        raise _wrong(f"{where} belongs to another user", "Use a file of your own.")
    if found.st_mode & 0o077:
        raise _wrong(
            f"{where} can be accessed by other users (mode {stat.S_IMODE(found.st_mode):o})",
            "Run chmod 600 on it; if others may have read it, make a new key.",
        )


def _wrong(message: str, hint: str) -> RequestError:
    return RequestError("temporal_settings", message, hint)
