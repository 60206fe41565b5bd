"""A state field gets values of different types.

If a field is text at first and a list after a later step, its readers must know which steps have run. Null together
with another type is not a conflict, and neither is an empty list together with a list of any type.

Bad:

```yaml
initial_state: {files: ""}
steps:
  - {id: list, type: shell, command: ls | sort, output_to: listing}
  - id: pick
    type: set_state
    needs_state: [listing]
    updates:
      files: "{{ state.listing.stdout.splitlines() }}"
```

Good:

```yaml
initial_state: {files: []}
steps:
  - {id: list, type: shell, command: ls | sort, output_to: listing}
  - id: pick
    type: set_state
    needs_state: [listing]
    updates:
      files: "{{ state.listing.stdout.splitlines() }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.lattice import describe, join, kind_of, options
from wfc.analysis.types.reaching import Definition
from wfc.analysis.types.workflow import ScopeTypes, types_of
from wfc.findings import Note, Severity
from wfc.language.types import Type
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule

_KINDS = frozenset({"text", "number", "bool", "list", "object"})


@rule("WF311", "type-conflict", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    types = types_of(file)
    for scope in types.scopes if types else ():
        for field, ways in scope.inference.definitions.by_field.items():
            if sum(way.span is not None for way in ways) > 1:
                yield from _conflict(scope, field, ways)


def _conflict(scope: ScopeTypes, field: str, ways: list[Definition]) -> Iterator[Finding]:
    first: tuple[Definition, Type] | None = None
    for way in ways:
        kind = _solid(scope.inference.definitions.types[way.number])
        if kind is None or way.span is None:
            continue
        if first is None:
            first = way, kind
        elif not _kinds(kind) & _kinds(first[1]):
            yield Finding(
                way.span,
                f"conflicting types of `{field}`: {describe(kind)} here, {describe(first[1])} elsewhere",
                help="use two fields, or write the same type in both places",
                notes=(Note(f"here it is {describe(first[1])}", first[0].span),),
                step=way.step.name if way.step else None,
            )
            return


def _solid(kind: Type) -> Type | None:
    """The type that is written, without null; None if it is not known."""
    found = [option for option in options(kind) if kind_of(option) != "null"]
    return join(*found) if found and all(kind_of(option) in _KINDS for option in found) else None


def _kinds(kind: Type) -> set[str]:
    return {kind_of(option) for option in options(kind)}
