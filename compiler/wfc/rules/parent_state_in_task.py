"""A task uses a state field that belongs to the workflow, or to another task.

Every run has its own state. A task can access its inputs, its item and the fields that its own steps write, but not the
state of the workflow that runs it. The workflow can access only the value that the task returns.

Bad:

```yaml
steps:
  - {id: ask, type: prompt, prompt_type: text, message: "What for?", output_to: goal}
  - {id: audit, type: foreach, items: [core, web], task: audit_module}
tasks:
  audit_module:
    steps:
      - id: look
        type: delegate
        needs_state: [goal]
        instructions: "Audit {{ item }} for <goal>{{ state.goal.input }}</goal>."
```

Good:

```yaml
steps:
  - {id: ask, type: prompt, prompt_type: text, message: "What for?", output_to: goal}
  - id: audit
    type: foreach
    needs_state: [goal]
    items: [core, web]
    task: audit_module
    with: {goal: "{{ state.goal.input }}"}
tasks:
  audit_module:
    inputs:
      goal: {type: string, required: true}
    steps:
      - id: look
        type: delegate
        instructions: "Audit {{ item }} for <goal>{{ inputs.goal }}</goal>."
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.ast import Scope, Task
from wfc.language.dialect import Language
from wfc.language.scopes import runners
from wfc.language.steps.protocol import Child
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.state import ScopeFields, StepAccess, Stranger, state_access


@rule("WF312", "parent-state-in-task")
def check(file: SourceFile) -> Iterator[Finding]:
    if file.workflow is None:
        return
    run_by: dict[str, list[Child]] | None = None
    for access in state_access(file):
        for stranger in access.strangers:
            if stranger.owner is not None:
                # Computed for the first finding: most files have none.
                run_by = runners(file.workflow) if run_by is None else run_by
                yield _finding(file.language, access, stranger, stranger.owner, run_by)


def _finding(
    language: Language,
    access: StepAccess,
    stranger: Stranger,
    owner: ScopeFields,
    run_by: dict[str, list[Child]],
) -> Finding:
    scope = access.fields.scope
    does = "lists" if stranger.listed else "reads"
    note = Note(f"`{stranger.name}` is set here, in {owner.scope.known_as}", owner.places[stranger.name])
    return Finding(
        stranger.span,
        f"inaccessible state field `{stranger.name}`: {language.call(access.step)} {does} it, but it belongs to "
        f"{owner.scope.known_as}",
        help=_help_in_task(language, scope, stranger.name)
        if isinstance(scope, Task)
        else _help_in_main(owner.scope),
        notes=(note, *_runner(language, scope, run_by)),
        step=access.step.name,
    )


def _help_in_task(language: Language, task: Task, name: str) -> str:
    path, given = language.name_of("inputs", name), language.key("with")
    if name in task.declared_inputs:
        return f"read the task's input of that name: `{path}`"
    return f"declare it in the task's `inputs`, pass it in the foreach's `{given}`, and read `{path}`"


def _help_in_main(owner: Scope) -> str:
    return f"let {owner.known_as} return it: the foreach's `output_to` stores the list of returned values"


def _runner(language: Language, scope: Scope, run_by: dict[str, list[Child]]) -> tuple[Note, ...]:
    children = run_by.get(scope.task_name, []) if isinstance(scope, Task) else []
    return tuple(
        Note(f"{language.call(child.step)} runs the task here", child.step.value_span(child.field))
        for child in children[:1]
    )
