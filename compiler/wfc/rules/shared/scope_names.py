"""What a workflow or task calls its own, for messages that say what was probably meant."""

from __future__ import annotations

from wfc.caching import cached_per_file
from wfc.language.ast import Scope
from wfc.language.scopes import CHILD_IN_TURN, EVERYWHERE, NamesInScope
from wfc.language.shape import Shape
from wfc.rules.shared.nearest import Nearest
from wfc.yaml import Mapping


class ScopeNames:
    """The state fields and inputs of one scope, and the steps that keep a result."""

    def __init__(self, scope: Scope) -> None:
        steps = list(scope.walk())
        written = (name for step in steps for name in step.writes())
        self.fields = dict.fromkeys([*(keys_of(scope, "initial_state") or ()), *written])
        self.inputs = dict.fromkeys(keys_of(scope, "inputs") or ())
        self.results: dict[str, str] = {
            step.name: step.values["output_to"].text for step in steps if "output_to" in step.values
        }
        self._nearest = Nearest([*self.fields, *self.inputs, *EVERYWHERE, *CHILD_IN_TURN])

    def nearest_path(self, name: str, names: NamesInScope) -> str | None:
        """The way to write what a bare name most likely stands for."""
        near = name if name in self.fields or name in self.inputs else self._nearest.to(name)
        if near is None or near in names:
            return near
        if near in self.fields:
            return f"state.{near}"
        return f"inputs.{near}" if near in self.inputs else None


@cached_per_file(8)
def names_of(scope: Scope) -> ScopeNames:
    return ScopeNames(scope)


def keys_of(shape: Shape, field: str) -> list[str] | None:
    """The keys of a field's mapping, readable or not; None where it is no mapping and nothing can be said."""
    node = shape.node.get(field)
    if node is None:
        return []
    return [entry.key.text for entry in node.entries] if isinstance(node, Mapping) else None
