"""The languages that wfc reads. Each becomes the core AST, and nothing after this package knows which one it was."""

from __future__ import annotations

import sys

from wfc.dialects.base import Dialect, Surroundings
from wfc.dialects.blocks import BlocksDialect
from wfc.dialects.phases import PhasesDialect
from wfc.dialects.reactive import ReactiveDialect
from wfc.dialects.steps import StepsDialect
from wfc.yaml import Document, Mapping, Node, Source, YamlLimits, parse_document

__all__ = [
    "DIALECTS",
    "Dialect",
    "Surroundings",
    "dialect_of",
    "is_library",
    "is_workflow",
    "limit_plugins",
    "read_document",
    "use_plugins",
]

_OWN_TYPES = "wfc.dialects.blocks.own_types"
DIALECTS: tuple[Dialect, ...] = (StepsDialect(), BlocksDialect(), PhasesDialect(), ReactiveDialect())


def read_document(source: Source, limits: YamlLimits) -> Document:
    """The YAML of a file. In Markdown, that is the program in its fences."""
    if not source.path.endswith(".md"):
        return parse_document(source, limits)
    from wfc.dialects.phases.markdown import read_markdown  # Most projects have no such file.

    return read_markdown(source, limits)


def dialect_of(root: Node | None) -> Dialect:
    """The language of a file. One that matches none is read as `steps`, whose checks then report what is missing."""
    return _matching(root) or DIALECTS[0]


_only: tuple[str, ...] | None = None


def limit_plugins(names: tuple[str, ...] | None) -> None:
    """From now on, use only these of the block types that a project's settings name; None: all of them.

    SECURITY. Using one imports code. With `--agent` a project's settings may come from a stranger.
    """
    global _only
    _only = names


def use_plugins(names: tuple[str, ...]) -> None:
    """Make the block types of installed distributions known that a project uses, and no others."""
    if _only is not None:
        names = tuple(name for name in names if name in _only)
    if names or _OWN_TYPES in sys.modules:
        from wfc.dialects.blocks.own_types import use_own_types

        use_own_types(names)


def is_library(root: Mapping) -> bool:
    """Whether a file has only parts that other files import."""
    return any(dialect.is_library(root) for dialect in DIALECTS)


def is_workflow(root: Node | None) -> bool:
    return _matching(root) is not None


def _matching(root: Node | None) -> Dialect | None:
    if not isinstance(root, Mapping):
        return None
    # `steps` takes every file that has steps, so the other languages are asked first.
    return next((dialect for dialect in (*DIALECTS[1:], DIALECTS[0]) if dialect.matches(root)), None)
