"""A foreach refers to a task that the workflow does not define.

Tasks are the entries of `tasks:` in the same file. The name is literal; it can't be a template.

Bad:

```yaml
steps:
  - id: audit
    type: foreach
    items: [core, web]
    task: audit_modul
tasks:
  audit_module:
    steps:
      - {id: look, type: delegate, instructions: "Audit the module {{ item }}."}
```

Good:

```yaml
steps:
  - id: audit
    type: foreach
    items: [core, web]
    task: audit_module
tasks:
  audit_module:
    steps:
      - {id: look, type: delegate, instructions: "Audit the module {{ item }}."}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.scopes import runners
from wfc.language.steps.base import Step
from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc.rules.common.state import keys_of
from wfc.suggest import Nearest
from wfc_runtime.expr import is_template


@rule("WF102", "unknown-task", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    known = keys_of(file.workflow, "tasks") if file.workflow else None
    if file.workflow is None or known is None:
        return
    names = Nearest(known)
    for name, children in runners(file.workflow).items():
        # WF506 reports computed names.
        if name not in known and not is_template(name):
            yield from (_finding(child.step, child.name, names) for child in children if child.name)


def _finding(step: Step, task: Word, names: Nearest) -> Finding:
    near = names.to(task.text)
    return Finding(
        task.span,
        f"unknown task `{task.text}`",
        help=names.hint(task.text) or "the workflow has no tasks: define it under `tasks:`",
        fix=rename(task.node, near, f"run {near} instead") if near else None,
        step=step.name,
    )
