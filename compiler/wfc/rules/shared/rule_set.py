"""The validation rules of one input or prompt, wherever they stand."""

from __future__ import annotations

from typing import Any

from wfc.language.shape import InputDecl, Shape
from wfc.language.values import plain
from wfc.yaml import Span


class RuleSet:
    """What a value must satisfy: its type, and rules that stand in `validation` or beside the type."""

    def __init__(self, kind: str, holders: list[Shape]) -> None:
        self.kind = kind
        self.holders = holders

    @classmethod
    def of(cls, decl: InputDecl) -> RuleSet:
        return cls(decl.kind, [*([decl.validation] if decl.validation else []), decl])

    def get(self, name: str) -> Any:
        """The plain value of a rule; None where it is not there, or not of its kind."""
        holder = self._holder(name)
        found = holder.values[name] if holder else None
        if isinstance(found, list):
            return [word.text for word in found]
        if found is None or isinstance(found, dict):
            return found
        return plain(found.node)

    def span(self, name: str) -> Span | None:
        holder = self._holder(name)
        return holder.value_span(name) if holder else None

    def _holder(self, name: str) -> Shape | None:
        return next((holder for holder in self.holders if name in holder.values), None)
