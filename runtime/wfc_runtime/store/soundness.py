"""Is a file a store, of a version that this wfc knows, and whole? Looked at without changing anything."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from wfc_runtime.store.database import damaged, translated
from wfc_runtime.store.migrations import version_of


def check_soundness(path: Path) -> None:
    """Raises `StoreError`, which says what is wrong."""
    with translated(path):
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            version_of(connection, str(path))
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise damaged(path, str(verdict))
            connection.execute("SELECT id FROM runs LIMIT 1").fetchone()
        finally:
            connection.close()
