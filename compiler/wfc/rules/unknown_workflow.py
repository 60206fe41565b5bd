"""A call of a workflow that the project does not have.

A call names another workflow by the `name` in its file, not by the file's own name. The name is taken as it
stands; it can't be computed. The project's files are those being checked, those beside them, those of the
workflows folder, and those of the folders that `WORKFLOWS_TEMPLATE_PATHS` names.

Bad:

```yaml
- id: deploy
  type: call
  workflow: deploy-servce
```

Good:

```yaml
- id: deploy
  type: call
  workflow: deploy-service
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.caching import cached_per_file
from wfc.project import Project, SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc.suggest import Nearest
from wfc_runtime.expr import is_template


@rule("WF111", "unknown-workflow", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        child = step.child()
        word = child.name if child is not None and not child.is_task else None
        # A computed name is wrong for another reason: WF506 says so.
        if word and not is_template(word.text) and not _is_known(word.text, file.project):
            names = _others(file)
            near = names.to(word.text)
            yield Finding(
                word.span,
                f"the project has no workflow `{word.text}`",
                help=names.hint(word.text) or "the project has no other workflow",
                fix=rename(word.node, near, f"call {near}") if near else None,
                step=step.name,
            )


def _is_known(name: str, project: Project) -> bool:
    return bool(project.named(name)) or project.offered(name)


@cached_per_file(1)
def _others(file: SourceFile) -> Nearest:
    """What a workflow may call: any other."""
    return Nearest(other for other in file.project.names() if other != file.name)
