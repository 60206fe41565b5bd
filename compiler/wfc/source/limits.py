"""How much a file may ask of us before reading it stops."""

from __future__ import annotations

from wfc.structs import struct

MAX_PROBLEMS = 100
"""Reading stops when a file has so many."""


@struct(frozen=True)
class YamlLimits:
    max_depth: int = 64
    """Levels of lists and mappings inside each other."""
    max_nodes: int = 100_000
    """Values in one file, each alias counted as all that it stands for."""
