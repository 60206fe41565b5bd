"""A step writes a field that is not its to write.

A derived field has the value of its expression. If a step wrote it too, the value would last until a field that the
expression reads changes, and then disappear.

Bad:

```yaml
initial_state: {files: []}
derived:
  count: {value: "{{ state.files | length }}"}
steps:
  - {id: reset, type: set_state, updates: {count: 0}}
```

Good:

```yaml
initial_state: {files: []}
derived:
  count: {value: "{{ state.files | length }}"}
steps:
  - {id: reset, type: set_state, updates: {files: []}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.ast import Scope
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Mapping


@rule("WF315", "not-writable")
def check(file: SourceFile) -> Iterator[Finding]:
    for scope in file.scopes:
        if scope.derivations:
            yield from _twice(scope)
            yield from _written(scope)


def _twice(scope: Scope) -> Iterator[Finding]:
    """Fields that are derived, and also have their own value at the start."""
    derived = {one.field: one for one in scope.derivations}
    for given in ("initial_state", "start_values"):
        node = scope.node.get(given)
        for entry in node.entries if isinstance(node, Mapping) else ():
            if entry.key.text in derived:
                yield Finding(
                    entry.key.span,
                    f"`{entry.key.text}` is a derived field: its value at the start is computed, too",
                    help=f"remove it from `{given}`",
                    notes=(Note("it is derived here", derived[entry.key.text].span),),
                )


def _written(scope: Scope) -> Iterator[Finding]:
    derived = {one.field: one for one in scope.derivations}
    for step in scope.walk():
        for name, (span, _) in step.writes().items():
            if name in derived:
                read = ", ".join(f"`{one}`" for one in derived[name].reads[:4])
                yield Finding(
                    span,
                    f"`{name}` is a derived field, which no step can write",
                    help=f"write a field that it is computed from: {read}" if read else "write another field",
                    notes=(Note("it is derived here", derived[name].span),),
                    step=step.name,
                )
