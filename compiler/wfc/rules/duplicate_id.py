"""Two steps of one workflow or task have the same id.

Jumps, results and histories refer to a step by its id, so ids must be unique within a workflow or task. A task may
reuse the ids of the workflow. In a mission, two phases must not have the same id or the same number. Two tasks,
own or imported ones, must not have the same name.

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
        f"duplicate step id `{step.name}` in {scope.known_as}",
        help="rename one of them",
        notes=(Note(f"`{step.name}` is first defined here", first.span),),
        step=step.name,
    )
