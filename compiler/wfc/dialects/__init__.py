"""The languages that wfc reads. Each becomes the core AST, and nothing after this package knows which one it was."""

from __future__ import annotations

from wfc.dialects.base import Dialect
from wfc.dialects.blocks import BlocksDialect
from wfc.dialects.steps import StepsDialect
from wfc.yaml import Mapping, Node

__all__ = ["DIALECTS", "Dialect", "dialect_of", "is_workflow"]

DIALECTS: tuple[Dialect, ...] = (StepsDialect(), BlocksDialect())


def dialect_of(root: Node | None) -> Dialect:
    """The language of a file. One that matches none is read as `steps`, whose checks then report what is missing."""
    return _matching(root) or DIALECTS[0]


def is_workflow(root: Node | None) -> bool:
    return _matching(root) is not None


def _matching(root: Node | None) -> Dialect | None:
    if not isinstance(root, Mapping):
        return None
    # `steps` takes every file that has steps, so the other languages are asked first.
    return next((dialect for dialect in (*DIALECTS[1:], DIALECTS[0]) if dialect.matches(root)), None)
