"""The languages that wfc reads. Each becomes the core AST; nothing after this package knows which it was."""

from __future__ import annotations

from typing import Any, Protocol

from wfc.dialects.blocks import BlocksDialect
from wfc.dialects.steps import StepsDialect
from wfc.language.dialect import Parsed
from wfc.yaml import Mapping


class Dialect(Protocol):
    name: str

    def matches(self, root: Mapping) -> bool:
        """Whether a file's top level looks like this language."""

    def parse(self, root: Mapping) -> Parsed:
        """The file as core AST. Parts that can't be read are left out, and rules report them."""

    def schema(self) -> dict[str, Any]:
        """The language as JSON Schema."""


DIALECTS: tuple[Dialect, ...] = (StepsDialect(), BlocksDialect())


def dialect_of(root: Mapping) -> Dialect:
    """The language of a file. One that looks like none is taken for `steps`, whose checks then say what is missing."""
    return next((dialect for dialect in DIALECTS if dialect.matches(root)), DIALECTS[0])
