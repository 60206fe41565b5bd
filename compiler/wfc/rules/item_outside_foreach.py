"""`item`, `index` or `previous` is used outside of a foreach.

A foreach passes `item` and `index` to each child run: they are defined in the steps of a task and in the `with` of the
foreach. `previous`, the list of results so far, is defined only if the foreach has `sequential: true`.

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
    """Whether the template handles a missing `previous`, or the name is a later key of `updates` (WF212)."""
    # One task may be run by sequential and by concurrent steps, so a task may test whether it has `previous`.
    both_ways = read.guarded and read.root == PREVIOUS and isinstance(site.scope, Task)
    return both_ways or site.names.comes_later(read.root)


def _finding(language: Language, workflow: Workflow, site: Site, name: str, span: Span) -> Finding:
    runner = _side_by_side(workflow, site) if name == PREVIOUS else None
    if runner is None:
        return _nowhere(language, site, name, span)
    own = runner is site.step
    return Finding(
        span,
        "undefined `previous`: it requires a sequential foreach",
        help=f"add `sequential: true` to `{runner.name}`"
        + ("" if own else ", or write `previous | default([])`"),
        notes=() if own else (Note(f"`{runner.name}` runs this task concurrently", runner.span),),
        step=site.step.name,
    )


def _side_by_side(workflow: Workflow, site: Site) -> Step | None:
    """The step whose children would have `previous` if it were sequential."""
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
        place = f"undefined `{name}` in this field of `{site.step.name}`"
        help_ = f"`{name}` is defined in its `with` and in the steps of its task"
    else:
        place = f"undefined `{name}` in the main steps"
        help_ = "it is defined only in the steps of a task that a foreach runs; use the list itself here"
    if name in names_of(site.scope).fields:
        help_ = f"did you mean `{language.name_of('state', name)}`?"
    return Finding(span, place, help=help_, step=site.step.name)
