"""Keys for tests."""

from __future__ import annotations

from base64 import b64encode

from wfc_runtime.service.temporal.encryption import Key, Keyring

OLD = bytes(range(32))
NEW = bytes(range(100, 132))
OTHER = bytes(range(200, 232))


def text_of(*secrets: bytes) -> str:
    """As it stands in WFC_TEMPORAL_KEY."""
    return ",".join(b64encode(one).decode() for one in secrets)


def id_of(secret: bytes) -> str:
    return Key(secret).id


def ring(*secrets: bytes) -> Keyring:
    return Keyring(Key(one) for one in secrets)
