"""A property that a schema does not require is read without a fallback.

A `result_schema` accepts a result without the properties that its `required` does not list, and an object input accepts
a value without the properties that are not `required`. Reading such a property fails the step when it is missing. List
it in `required`, so that a result without it is refused, or supply a fallback with `default`. The finding is
information if the schema has no `required` at all.

Bad:

```yaml
- id: review
  type: delegate
  instructions: Review the change.
  result_schema:
    type: object
    properties: {ok: {type: boolean}, comment: {type: string}}
    required: [ok]
  output_to: review
- id: report
  type: return
  needs_state: [review]
  value: "{{ state.review.ok }}: {{ state.review.comment }}"
```

Good:

```yaml
- id: review
  type: delegate
  instructions: Review the change.
  result_schema:
    type: object
    properties: {ok: {type: boolean}, comment: {type: string}}
    required: [ok]
  output_to: review
- id: report
  type: return
  needs_state: [review]
  value: "{{ state.review.ok }}: {{ state.review.comment | default('no comment') }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind, Path
from wfc.analysis.types.workflow import Located, ScopeTypes
from wfc.findings import Fix, Note, Severity
from wfc.language.shape import InputDecl
from wfc.language.types import Record
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import add_entry, append_items
from wfc.rules.common.hints import flow
from wfc.rules.common.inputs import bindings
from wfc.rules.common.typed import finding, problems
from wfc.rules.unbound_task_input import item_type
from wfc.struct import replace
from wfc.yaml import Mapping, Sequence


@rule("WF223", "optional-property", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    found = [(scope, one, _schema(scope, one.problem.path)) for scope, one in problems(file, Kind.OPTIONAL)]
    # One fix for all properties of a schema: after a fix for one of them, `required` would say that the others are not.
    names: dict[Mapping, dict[str, None]] = {}
    for _, one, schema in found:
        if schema is not None and one.problem.path is not None:
            names.setdefault(schema, {})[str(one.problem.path[-1])] = None
    seen: set[tuple[Mapping, str]] = set()
    for scope, one, schema in found:
        if schema is None:
            # Not from a result with one schema, so no fix of a schema helps.
            yield _of_input(scope, one)
            continue
        name = str((one.problem.path or ("",))[-1])
        # A schema without `required` is the cause, and one finding for each of its properties is enough.
        if not one.problem.only_possible or (schema, name) not in seen:
            seen.add((schema, name))
            yield _of_schema(one, schema, name, list(names[schema]))
    yield from _of_items(file)


def _of_schema(found: Located, schema: Mapping, name: str, names: list[str]) -> Finding:
    properties = schema.get("properties")
    declared = properties.entry(name) if isinstance(properties, Mapping) else None
    note = "it is not in `required`" if schema.entry("required") else "the schema has no `required`"
    return replace(
        finding(found, severity=Severity.INFO if found.problem.only_possible else Severity.WARNING),
        help=f"list it in `required`, or {found.problem.help}",
        notes=(Note(note, declared.key.span),) if declared is not None else (),
        fix=_require(schema, names),
    )


def _of_input(scope: ScopeTypes, found: Located) -> Finding:
    path = found.problem.path
    result = finding(found, severity=Severity.INFO if found.problem.only_possible else Severity.WARNING)
    if path is None or path[0] != "inputs":
        return result
    help = f"declare it with `required: true`, or {found.problem.help}"
    return replace(result, help=help, fix=_require_input(scope, path))


def _of_items(file: SourceFile) -> Iterator[Finding]:
    """Items of a foreach fill the inputs of its task by name: one that lacks a required input fails the child."""
    for binding in bindings(file):
        item = item_type(file, binding)
        if not isinstance(item, Record):
            continue
        for name in binding.needed:
            prop = item.get(name)
            if prop is not None and not prop.required:
                said = item.declared or any(other.required for other in item.properties)
                yield Finding(
                    binding.step.value_span("items"),
                    f"`{name}` may be missing: an item need not have it, and {binding.title} requires it",
                    help="list it in `required` of the schema, or give the input a default",
                    severity=Severity.WARNING if said else Severity.INFO,
                    step=binding.step.name,
                )


def _schema(scope: ScopeTypes, path: Path | None) -> Mapping | None:
    """The schema of the object that has the property at the end of a path, if one step alone writes the field."""
    if path is None or path[0] != "state":
        return None
    ways = scope.inference.definitions.by_field.get(str(path[1]), ())
    # With several writers it is not clear which schema to change.
    steps = {way.step for way in ways if way.step is not None}
    step = steps.pop() if len(steps) == 1 else None
    tree = step.values.get("result_schema") if step is not None else None
    node = tree.node if tree is not None else None
    for name in path[2:-1]:
        inner = (
            node.get("properties" if isinstance(name, str) else "items")
            if isinstance(node, Mapping)
            else None
        )
        node = inner.get(name) if isinstance(name, str) and isinstance(inner, Mapping) else inner
    return node if isinstance(node, Mapping) else None


def _require(schema: Mapping, names: list[str]) -> Fix | None:
    """List properties in `required`."""
    entries = [entry for entry in schema.entries if entry.key.text == "required"]
    if entries:
        listed = entries[0].value
        edit = append_items(listed, names) if len(entries) == 1 and isinstance(listed, Sequence) else None
    else:
        after = schema.entry("properties")
        edit = add_entry(schema, after, f"required: {flow(names)}") if after is not None else None
    return Fix(f"require {', '.join(names)}", (edit,), safe=False) if edit is not None else None


def _require_input(scope: ScopeTypes, path: Path) -> Fix | None:
    """Make a declared property of an input required."""
    decl: InputDecl | None = scope.scope.declared_inputs.get(str(path[1]))
    for name in path[2:]:
        decl = (decl.rule("properties") or {}).get(name) if decl is not None else None
    kind = decl.node.entry("type") if decl is not None else None
    if decl is None or kind is None or decl.node.entry("required") is not None:
        return None
    edit = add_entry(decl.node, kind, "required: true")
    return Fix(f"require {path[-1]}", (edit,), safe=False) if edit is not None else None
