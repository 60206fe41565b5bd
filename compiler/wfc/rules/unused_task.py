"""No step runs a task.

Either a foreach should run it but names another task, or the task is a leftover that misleads readers. A task that only
unused tasks run is unused too.

Bad:

```yaml
steps:
  - {id: build, type: shell, command: make}
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

from wfc.findings import Fix, Note, Severity
from wfc.language.ast import Scope, Workflow
from wfc.language.scopes import runners
from wfc.language.steps.protocol import Child
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import remove_entry, with_comment
from wfc.suggest import Nearest
from wfc.yaml import Entry, Mapping
from wfc_runtime.expr import is_template


@rule("WF103", "unused-task", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    workflow = file.workflow
    node = workflow.node.get("tasks") if workflow else None
    if workflow is None or not isinstance(node, Mapping) or _any_computed(workflow):
        return
    used = _used_tasks(workflow)
    unused = [entry for entry in node.entries if entry.key.text not in used]
    # A task that only unused tasks run is unused as well. The note shows why, since the author sees a step that runs
    # it.
    only_from = _named_by_unused(workflow, used) if unused else {}
    # If no task is left, their key goes as well: `tasks:` without a value is an error.
    none_left = _remove_all(workflow) if len(unused) == len(node.entries) else None
    for entry in unused:
        name = entry.key.text
        yield Finding(
            entry.key.span,
            f"unused task `{name}`: no step runs it",
            help=f"run it with a foreach (`task: {name}`), or remove it",
            notes=only_from.get(name, ()),
            fix=none_left if len(unused) == len(node.entries) else _remove(node, entry),
        )


def _any_computed(workflow: Workflow) -> bool:
    """Whether the name of a task is a template (WF506), which could be the name of any task."""
    return any(is_template(name) for name in runners(workflow))


def _used_tasks(workflow: Workflow) -> set[str]:
    """The tasks that the main steps run, directly or through other tasks."""
    tasks = workflow.declared_tasks
    meant = Nearest(tasks)
    used: set[str] = set()
    todo: list[Scope] = [workflow]
    while todo:
        names = {name for name, _ in _runs(todo.pop())}
        # A misspelt name (WF102) probably means the most similar task, which must not be removed.
        names |= {near for name in names - tasks.keys() if (near := meant.to(name))}
        todo += [tasks[name] for name in sorted(names - used) if name in tasks]
        used |= names
    return used


def _runs(scope: Scope) -> Iterator[tuple[str, Child]]:
    for step in scope.walk():
        child = step.child()
        if child is not None and child.is_task and child.name:
            yield child.name.text, child


def _named_by_unused(workflow: Workflow, used: set[str]) -> dict[str, tuple[Note, ...]]:
    """For each task that unused tasks run, the first place where one does."""
    found: dict[str, tuple[Note, ...]] = {}
    for title, task in workflow.declared_tasks.items():
        if title not in used:
            for name, child in _runs(task):
                place = child.step.value_span(child.field)
                note = Note(f"only `{title}` runs it, which is unused too", place)
                found.setdefault(name, (note,))
    return found


def _remove(tasks: Mapping, entry: Entry) -> Fix | None:
    return with_comment(remove_entry(tasks, entry, f"remove the task {entry.key.text}"), entry, blanks=True)


def _remove_all(workflow: Workflow) -> Fix | None:
    entry = workflow.node.entry("tasks")
    if entry is None:
        return None
    return with_comment(remove_entry(workflow.node, entry, "remove the tasks"), entry, blanks=True)
