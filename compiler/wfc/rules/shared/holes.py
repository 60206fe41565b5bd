"""Expressions in a text of the file, as messages show them."""

from __future__ import annotations

from wfc.language.values import Text
from wfc_runtime.expr import nodes

_LONGEST = 60


def shown_in(text: Text, node: nodes.Node) -> str:
    """An expression on one line. A long one is cut."""
    start, end = text.template.span(node)
    shown = " ".join(text.template.text[start:end].split())
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
