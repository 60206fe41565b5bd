"""Paths for services that look from the root of the repository, wherever the command was given."""

from __future__ import annotations

import os

WORKSPACE = "GITHUB_WORKSPACE"
"""The variable by which a job of GitHub Actions knows that root."""


def whole(path: str) -> str:
    """From the root, where that is known. Else a path that climbs out of this folder would lead elsewhere from another;
    whole, it can be placed."""
    full, root = os.path.abspath(path), os.environ.get(WORKSPACE)
    if root and full.startswith(os.path.join(os.path.abspath(root), "")):
        return os.path.relpath(full, root)
    return full if path.startswith("..") else path
