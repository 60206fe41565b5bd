"""A call refers to a workflow that does not exist in the project.

A call refers to another workflow by the `name` in its file, not by the file name. The name is literal; it can't be a
template. The project consists of the checked files, the other files in their folders, the workflows folder, and the
folders in `WORKFLOWS_TEMPLATE_PATHS`. In a file of blocks an unknown name is a warning unless that variable is set:
then every folder is known. A test file names its workflow by file, with `workflow:`, or is named after it.

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
from wfc.findings import Severity
from wfc.language.steps.base import Step
from wfc.project import Project, SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc.rules.common.tests import findings_in_tests
from wfc.suggest import Nearest
from wfc_runtime.expr import is_template


@rule("WF111", "unknown-workflow", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    yield from findings_in_tests(file, "WF111")
    for step in file.steps:
        child = step.child()
        yield from _unmatched(file, step, child.among if child else ())
        word = child.name if child is not None and not child.is_task else None
        # WF506 reports computed names.
        if word and not is_template(word.text) and not _is_known(word.text, file.project):
            names = _others(file)
            near = names.to(word.text)
            yield Finding(
                word.span,
                f"unknown workflow `{word.text}`",
                help=names.hint(word.text) or "the project has no other workflow",
                fix=rename(word.node, near, f"call {near}") if near else None,
                severity=_severity(file),
                step=step.name,
            )


def _is_known(name: str, project: Project) -> bool:
    return bool(project.named(name)) or project.offered(name)


@cached_per_file(1)
def _others(file: SourceFile) -> Nearest:
    """The workflows that a workflow may call: all others."""
    return Nearest(other for other in file.project.names() if other != file.name)


def _severity(file: SourceFile) -> Severity:
    # Files of some languages are written for a server that adds folders of its own.
    is_sure = file.project.has_every_folder or not file.language.calls_elsewhere
    return Severity.ERROR if is_sure else Severity.WARNING


def _unmatched(file: SourceFile, step: Step, among: tuple[str, ...]) -> Iterator[Finding]:
    """The names that a computed name may be, if no workflow has them."""
    for name in among:
        if not file.project.matching((name,)) and not file.project.offered(name):
            word = step.values.get("choose")
            yield Finding(
                word.span if word is not None else step.span,
                f"no workflow has a name such as `{name}`",
                help="write the workflow, or correct the name",
                severity=_severity(file),
                step=step.name,
            )
