"""Why a run is cancelled, and by whom. Temporal stores one text for both, which no payload codec sees."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode

from wfc_runtime.service.temporal.encryption import NO_KEYS, Keyring, damaged

_ENCRYPTED = "wfc-encrypted:"
_PURPOSE = "reason"


def cancel_reason(
    reason: str, actor: str | None, by_parent: bool = False, run: str = "", keyring: Keyring = NO_KEYS
) -> str:
    """The text for Temporal; encrypted for a run where there is a key."""
    text = json.dumps({"reason": reason, "actor": actor, "by_parent": by_parent})
    if not keyring:
        return text
    key_id, data = keyring.encrypt(text.encode(), run, _PURPOSE)
    return f"{_ENCRYPTED}{key_id}:{b64encode(data).decode()}"


def read_cancel_reason(
    text: str | None, run: str = "", keyring: Keyring = NO_KEYS
) -> tuple[str, str | None, bool]:
    """Reason, actor, and whether the parent cancelled the run. Other texts, typed into Temporal's own tools for
    example, are reasons without an actor."""
    # Between workflows, the server puts words before the text.
    for candidate in (text or "", (text or "").partition(" with reason: ")[2]):
        try:
            data = json.loads(_decrypted(candidate, run, keyring))
            return str(data["reason"]), data["actor"], bool(data["by_parent"])
        except (ValueError, TypeError, KeyError):
            continue
    return text or "", None, False


def _decrypted(text: str, run: str, keyring: Keyring) -> str:
    if not text.startswith(_ENCRYPTED):
        return text
    key_id, _, data = text.removeprefix(_ENCRYPTED).partition(":")
    try:
        sealed = b64decode(data, validate=True)
    except ValueError:
        raise damaged(run, "the cancel reason is not base64") from None
    return keyring.decrypt(key_id, sealed, run, _PURPOSE).decode()
