"""What an expression can go on with after a dot, by what is known of the value before it."""

from __future__ import annotations

from collections.abc import Sequence

from wfc.core.ast import Scope
from wfc.core.types import ANY, NULL, Fixed, ListType, MapType, Record, Type, Union, union
from wfc.lsp.analysis import Analysis


def root_type(analysis: Analysis, scope: Scope, root: str, first: str | int | None) -> Type | None:
    """What `state.first`, `inputs.first`, or a name such as `item` is; None where nothing is known of it."""
    types = analysis.scopes.get(scope)
    if root == "state":
        return types.field_types().get(str(first)) if types else None
    if root == "inputs":
        declared = scope.declared_inputs.get(str(first))
        return declared.read_type if declared else None
    return types.inference.names.get(root) if types else None


def type_of_path(analysis: Analysis, scope: Scope, names: Sequence[str | int | None]) -> Type | None:
    """The type at the end of a path, root first."""
    root = str(names[0])
    owned = root in ("state", "inputs")
    if owned and len(names) < 2:
        return None
    kind = root_type(analysis, scope, root, names[1] if owned else None)
    for name in names[2 if owned else 1 :]:
        if kind is None:
            return None
        kind = member(kind, name)
    return kind


def member(kind: Type, name: str | int | None) -> Type | None:
    match kind:
        case Record():
            prop = kind.get(str(name))
            return prop.type if prop else None
        case MapType():
            return kind.item
        case ListType():
            return kind.item if not isinstance(name, str) else None
        case Fixed():
            return union(*kind.items) if kind.items else ANY
        case Union():
            found = [part for option in kind.options if (part := member(option, name)) is not None]
            return union(*found) if found else None
    return None


def properties(kind: Type | None) -> dict[str, Type]:
    """The names that can come after the dot, each with its type."""
    match kind:
        case Record():
            return {
                prop.name: prop.type if prop.required else union(prop.type, NULL) for prop in kind.properties
            }
        case Union():
            found: dict[str, Type] = {}
            for option in kind.options:
                for name, one in properties(option).items():
                    found[name] = union(found[name], one) if name in found else one
            return found
    return {}
