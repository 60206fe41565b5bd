"""`item`, `index` or `previous` where no foreach provides it.

A foreach gives each child its `item` and `index`: they are there in the steps of a task and in the
foreach's own `with`. `previous`, the results so far, is there too where the foreach has `sequential: true`.

Bad:

```yaml
steps:
  - id: tell
    type: prompt
    prompt_type: info
    message: "Looking at {{ item }}"
```

Good:

```yaml
steps:
  - id: look-at-all
    type: foreach
    items: [core, web]
    task: look
tasks:
  look:
    steps:
      - id: tell
        type: prompt
        prompt_type: info
        message: "Looking at {{ item }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.ast import Task, Workflow
from wfc.language.dialect import Language
from wfc.language.scopes import Site, runners, template_sites
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import CHILD_IN_TURN, PREVIOUS
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.state import names_of
from wfc.template import Read
from wfc.yaml import Span


@rule("WF205", "item-outside-foreach")
def check(file: SourceFile) -> Iterator[Finding]:
    workflow = file.workflow
    if workflow is None:
        return
    for site in template_sites(workflow):
        wrong: dict[str, Read] = {}
        for read in site.text.template.reads:
            if read.root in CHILD_IN_TURN and read.root not in site.names and not _copes(site, read):
                wrong.setdefault(read.root, read)
        for name, read in wrong.items():
            span = site.text.at(read.start, read.start + len(name))
            yield _finding(file.language, workflow, site, name, span)


def _copes(site: Site, read: Read) -> bool:
    """A task may be run both ways, and say `previous | default([])`. A later key of `updates` is WF212's."""
    both_ways = read.guarded and read.root == PREVIOUS and isinstance(site.scope, Task)
    return both_ways or site.names.comes_later(read.root)


def _finding(language: Language, workflow: Workflow, site: Site, name: str, span: Span) -> Finding:
    runner = _side_by_side(workflow, site) if name == PREVIOUS else None
    if runner is None:
        return _nowhere(language, site, name, span)
    own = runner is site.step
    return Finding(
        span,
        "`previous` is there only where the children run one after the other",
        help=f"add `sequential: true` to `{runner.name}`"
        + ("" if own else ", or write `previous | default([])`"),
        notes=() if own else (Note(f"`{runner.name}` runs this task side by side", runner.span),),
        step=site.step.name,
    )


def _side_by_side(workflow: Workflow, site: Site) -> Step | None:
    """The step whose children would have `previous` if it ran them one after the other."""
    child = site.step.child()
    if child is not None and any(site.text in tree.texts for tree in (child.inputs or {}).values()):
        return site.step if child.is_task else None
    if not isinstance(site.scope, Task):
        return None
    children = runners(workflow)[site.scope.task_name]
    return next((child.step for child in children if not child.sequential), None)


def _nowhere(language: Language, site: Site, name: str, span: Span) -> Finding:
    child = site.step.child()
    if child is not None and child.is_task:
        place = f"`{site.step.name}` has no `{name}` of its own"
        help_ = f"`{name}` is there in its `with` and in the steps of its task"
    else:
        place = f"there is no `{name}` in the main steps"
        help_ = "a foreach gives it to the steps of its task; here, use the list itself"
    if name in names_of(site.scope).fields:
        help_ = f"did you mean `{language.name_of('state', name)}`?"
    return Finding(span, place, help=help_, step=site.step.name)
