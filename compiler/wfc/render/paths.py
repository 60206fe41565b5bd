"""Paths for services that look from the root of the repository, wherever the command was given."""

from __future__ import annotations

import os


def whole(path: str) -> str:
    """A path that climbs out of this folder would lead elsewhere from another; whole, it can be placed."""
    return os.path.abspath(path) if path.startswith("..") else path
