"""A task that a foreach runs contains a prompt: a person is asked once per item.

A run without a person, such as `wfc run --agent` in CI, stops at the first of these prompts, and so do all other
children when they reach theirs. Ask once, before the foreach, and pass the answer on with `with`.

Bad:

```yaml
steps:
  - {id: deploy-all, type: foreach, items: [api, web], task: deploy}
tasks:
  deploy:
    steps:
      - {id: confirm, type: prompt, prompt_type: confirm, message: "Deploy {{ item }}?", output_to: answer}
      - {id: roll-out, type: shell, command: make deploy, needs_state: [answer], when: "{{ state.answer.confirmed }}"}
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
tasks:
  deploy:
    steps:
      - {id: roll-out, type: shell, command: "deploy {{ item | shquote }}"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note, Severity
from wfc.language.steps.prompt import Prompt
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF416", "gate-in-fanout", Severity.INFO)
def check(file: SourceFile) -> Iterator[Finding]:
    if file.workflow is None:
        return
    tasks = file.workflow.declared_tasks
    told: set[str] = set()
    for step in file.steps:
        child = step.child()
        # WF408 reports prompts in tasks that an agent executes: nobody would answer them at all.
        if child is None or not child.is_task or child.agent is not None or child.name is None:
            continue
        name = child.name.text
        for inner in tasks[name].walk() if name in tasks and name not in told else ():
            if isinstance(inner, Prompt):
                told.add(name)
                yield Finding(
                    inner.span,
                    f"a person is asked once per item: {file.language.call(inner)} is in a task of a foreach",
                    help="ask once before the foreach, and pass the answer on; `wfc run --agent` stops here",
                    notes=(Note(f"{file.language.call(step)} runs the task", step.value_span(child.field)),),
                    step=inner.name,
                )
