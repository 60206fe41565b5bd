"""Where the library is that wfc ships. A server asks here, since it does not need the code for packs."""

from __future__ import annotations

from pathlib import Path


def shipped_folder() -> Path:
    """The folder with `workflows`, `generated` and `.claude/agents` of the installed wfc; in a clone, its root."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "library" / "shipped"
    return installed if installed.is_dir() else package.parents[1]
