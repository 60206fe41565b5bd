"""What an expression can go on with after a dot, by what is known of the value before it."""

from __future__ import annotations

from collections.abc import Sequence

from wfc.analysis.types.lattice import join
from wfc.analysis.types.reaching import child_names
from wfc.language.ast import Scope, Task
from wfc.language.scopes import runners
from wfc.language.steps.foreach import Foreach
from wfc.language.types import ANY, NULL, Fixed, ListType, MapType, Record, Type, Union, union
from wfc.lsp.analysis import Analysis


def names_given(analysis: Analysis, scope: Scope | None, starting: Foreach | None = None) -> dict[str, Type]:
    """`item` and its kin with their types: in a task, or in the `with` of the foreach that starts its children."""
    workflow = analysis.unit.workflow
    if starting is not None:
        steps = [starting]
    else:
        named = scope.task_name if isinstance(scope, Task) else None
        steps = runners(workflow).get(named, []) if workflow and named else []
    owners = {step: types for types in analysis.scopes.values() for step in types.scope.walk()}
    given = [
        child_names(step, owners[step].item_of(step), owners[step].file) for step in steps if step in owners
    ]
    common = set(given[0]).intersection(*given[1:]) if given else ()
    return {name: join(*(one[name] for one in given)) for name in sorted(common)}


def root_type(
    analysis: Analysis, scope: Scope, root: str, first: str | int | None, starting: Foreach | None
) -> Type | None:
    """What `state.first`, `inputs.first`, or a name such as `item` is; None where nothing is known of it."""
    if root == "state":
        types = analysis.scopes.get(scope)
        return types.field_types().get(str(first)) if types else None
    if root == "inputs":
        declared = scope.declared_inputs.get(str(first))
        return declared.read_type if declared else None
    return names_given(analysis, scope, starting).get(root)


def type_of_path(
    analysis: Analysis, scope: Scope, names: Sequence[str | int | None], starting: Foreach | None = None
) -> Type | None:
    """The type at the end of a path, root first. `starting`: the foreach in whose `with` it stands."""
    root = str(names[0])
    owned = root in ("state", "inputs")
    if owned and len(names) < 2:
        return None
    kind = root_type(analysis, scope, root, names[1] if owned else None, starting)
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
