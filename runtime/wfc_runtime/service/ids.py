"""Ids: generated with 128 random bits, and validated before use."""

from __future__ import annotations

import re
import secrets
from base64 import b32encode
from hashlib import sha256

from wfc_runtime.errors import RefusedError, RequestError

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}")
# Step ids may start with an underscore.
_STEP_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@:-]{0,127}")
_MOST_ACTOR = 200
_MOST_REASON = 500


def new_id() -> str:
    # Lowercase letters and digits only: an id is part of file names, URLs and shell commands.
    return b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()


def id_of_key(key: str) -> str:
    """The id of the run that calls with this key start: a hash, so that every server computes the same id."""
    return b32encode(sha256(key.encode("utf-8", "surrogatepass")).digest()[:16]).decode().rstrip("=").lower()


def check_run_id(value: object) -> str:
    return _checked(value, _RUN_ID, "workflow_id", "Use the workflow_id from a reply, unchanged.")


def check_step_id(value: object) -> str:
    return _checked(value, _STEP_ID, "step_id", "Use the step_id of the pending action, unchanged.")


def check_name(value: object) -> str:
    return _checked(value, _STEP_ID, "workflow", "Name a workflow that list_workflows shows.")


def check_same_workflow(started: str, wanted: str) -> None:
    """Refuse a key that was used for another workflow: the call must not mistake that run for its own."""
    if started != wanted:
        raise RefusedError(
            "key_used", f"this request key has already started a run of `{started}`", "Use another key."
        )


def check_actor(value: str | None) -> str | None:
    """The caller as reported by the client: shortened and made printable, never refused."""
    if not value:
        return None
    return "".join(char if char.isprintable() else "?" for char in value)[:_MOST_ACTOR]


def check_reason(value: object) -> str:
    """A reason as it is stored: a short line, never refused."""
    return "".join(char if char.isprintable() else " " for char in str(value))[:_MOST_REASON]


def _checked(value: object, pattern: re.Pattern[str], what: str, hint: str) -> str:
    if not isinstance(value, str):
        raise RequestError("invalid_id", f"`{what}` must be text", hint)
    if not pattern.fullmatch(value):
        raise RequestError("invalid_id", f"`{what}` is not a valid id: {value[:60]!r}", hint)
    return value
