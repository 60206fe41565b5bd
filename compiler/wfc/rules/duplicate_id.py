"""Two steps of one workflow or task have the same id.

Jumps, results and histories name a step by its id, so an id has to mean one step. The steps of a task are
counted apart from those of the workflow.

Bad:

```yaml
steps:
  - {id: build, type: shell, command: make}
  - {id: build, type: shell, command: make test}
```

Good:

```yaml
steps:
  - {id: build, type: shell, command: make}
  - {id: test, type: shell, command: make test}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.ast import Scope
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF101", "duplicate-id")
def check(file: SourceFile) -> Iterator[Finding]:
    for scope in file.scopes:
        first: dict[str, Step] = {}
        for step in scope.walk():
            if step.name and first.setdefault(step.name, step) is not step:
                yield _finding(scope, step, first[step.name])


def _finding(scope: Scope, step: Step, first: Step) -> Finding:
    return Finding(
        step.span,
        f"{scope.known_as} has two steps with the id `{step.name}`",
        help="give one of them another id",
        notes=(Note(f"`{step.name}` is first defined here", first.span),),
        step=step.name,
    )
