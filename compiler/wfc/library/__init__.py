"""Workflows to copy into a project: those that wfc ships, and packs of other people."""

from wfc.library.pack import Pack, PackError, shipped_pack

__all__ = ["Pack", "PackError", "shipped_pack"]
