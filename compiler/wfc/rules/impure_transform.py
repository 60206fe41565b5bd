"""A derived field reads the clock or makes ids.

A derived field is a function of the fields that it reads: it is computed when one of them changes, and only then. With
`now()`, `Date.now()`, `new Date()` or `uuid()` its value would depend on when that happens to be. Store such a value in
a state field, with `start_values` or a step, and read it.

Bad:

```yaml
initial_state: {born: 1990}
derived:
  age: {value: "{{ now().year - state.born }}"}
steps:
  - {id: done, type: return, needs_state: [age], value: "{{ state.age }}"}
```

Good:

```yaml
initial_state: {born: 1990}
start_values: {year: "{{ now().year }}"}
derived:
  age: {value: "{{ state.year - state.born }}"}
steps:
  - {id: done, type: return, needs_state: [age], value: "{{ state.age }}"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF220", "impure-transform")
def check(file: SourceFile) -> Iterator[Finding]:
    for scope in file.scopes:
        for one in scope.derivations:
            for text in one.texts():
                for use in text.template.impure:
                    name = use.name if use.name.endswith(")") else f"{use.name}()"
                    yield Finding(
                        text.at(use.start, use.end),
                        f"`{one.field}` is not a function of what it reads: `{name}` differs each time",
                        help="store the value in a state field when a run starts, and read that field",
                        step=one.name,
                    )
