"""Secrets beside the store: made once, readable by their owner only, shared by every server of that store."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from wfc_runtime.errors import StoreError
from wfc_runtime.store.database import prepare_file

_SHORTEST = 32


def load_secret(state: Path, kind: str) -> str:
    """The secret of that kind; made now if there is none. Raises `StoreError`."""
    path = state.with_name(f"{state.name}.{kind}")
    try:
        prepare_file(state)
        if not path.exists():
            _create(path)
        found = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            "secret_unusable", f"{path} can't be used: {error}", "Remove it; a new one is made."
        ) from None
    if len(found) < _SHORTEST:
        raise StoreError("secret_unusable", f"{path} holds no secret", "Remove it; a new one is made.")
    return found


def _create(path: Path) -> None:
    """Whole or not at all. Of two processes that do this together one wins, and both use what it wrote."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(fresh)
