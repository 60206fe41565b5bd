"""A prompt in a task that a sub-agent executes.

A sub-agent has no person to ask, so the prompt would never be answered. Ask in the main steps, before the foreach, and
pass the answer to the task with `with`.

Bad:

```yaml
steps:
  - {id: deploy-all, type: foreach, items: [api, web], task: deploy, agent: "@task"}
tasks:
  deploy:
    steps:
      - {id: confirm, type: prompt, prompt_type: confirm, message: "Deploy {{ item }}?"}
```

Good:

```yaml
steps:
  - {id: confirm, type: prompt, prompt_type: confirm, message: "Deploy all services?", output_to: answer}
  - id: deploy-all
    type: foreach
    needs_state: [answer]
    when: "{{ state.answer.confirmed }}"
    items: [api, web]
    task: deploy
    agent: "@task"
tasks:
  deploy:
    steps:
      - {id: roll-out, type: shell, command: "deploy {{ item | shquote }}"}
```
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from wfc.findings import Note, Severity
from wfc.language.ast import Scope, Workflow
from wfc.language.dialect import Language
from wfc.language.steps.prompt import Prompt
from wfc.language.steps.protocol import Child
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.struct import struct

_SHOWN = 5


@rule("WF408", "prompt-in-delegated-task", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for task, handover in _handovers(file.workflow).items() if file.workflow else ():
        for step in handover.scope.walk():
            if isinstance(step, Prompt):
                way = handover.way()
                yield Finding(
                    step.span,
                    f"{file.language.call(step)} needs a person, but the task `{task}` is executed by "
                    f"`{way[0].agent}`, which can't ask anyone",
                    help="ask in the main steps before the foreach, and pass the answer on in its "
                    f"`{file.language.key('with')}`",
                    notes=_notes(file.language, way),
                    step=step.name,
                )


@struct(frozen=True, slots=True)
class _Handover:
    """A task that an agent executes, the foreach that runs it, and the task that contains the foreach, if any."""

    scope: Scope
    child: Child
    outer: _Handover | None

    def way(self) -> list[Child]:
        """The step that names the agent, and the steps from there to the task."""
        found = [self.child]
        outer = self.outer
        while outer is not None:
            found.append(outer.child)
            outer = outer.outer
        return found[::-1]


def _handovers(workflow: Workflow) -> dict[str, _Handover]:
    """Every task that an agent executes, directly or inside another task."""
    tasks = workflow.declared_tasks
    todo: deque[tuple[Child, _Handover | None]] = deque(
        (child, None) for scope in workflow.scopes for child in _runs(scope) if child.agent is not None
    )
    found: dict[str, _Handover] = {}
    while todo:
        child, outer = todo.popleft()
        name = child.name.text if child.name else ""
        if name in tasks and name not in found:
            found[name] = _Handover(tasks[name], child, outer)
            todo.extend((inner, found[name]) for inner in _runs(tasks[name]))
    return found


def _runs(scope: Scope) -> Iterator[Child]:
    """The tasks that a scope runs."""
    children = (step.child() for step in scope.walk())
    return (child for child in children if child is not None and child.is_task)


def _notes(language: Language, way: list[Child]) -> tuple[Note, ...]:
    first, *others = way
    handover = Note(
        f"{language.call(first.step)} hands its task to `{first.agent}`", first.step.value_span("agent")
    )
    inner = (
        Note(f"{language.call(child.step)} runs a task inside it", child.step.value_span(child.field))
        for child in others[:_SHOWN]
    )
    return (handover, *inner)
