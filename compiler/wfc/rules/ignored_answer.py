"""The answer of a prompt has no effect.

A `confirm` is answered with yes or no, and a `choice` with one of its options. If no step that can follow reads the
answer, later steps run whatever the person said: after "Deploy?" and a no, the deployment still runs. Use an `info`
prompt for a message that needs no answer.

Bad:

```yaml
steps:
  - {id: ask, type: prompt, prompt_type: confirm, message: "Deploy?"}
  - {id: deploy, type: shell, command: make deploy}
```

Good:

```yaml
steps:
  - {id: ask, type: prompt, prompt_type: confirm, message: "Deploy?", output_to: answer}
  - {id: deploy, type: shell, needs_state: [answer], when: "{{ state.answer.confirmed }}", command: make deploy}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note, Severity
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.language.steps.prompt import Prompt
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.state import ScopeUse, scope_uses

_DECIDING = {"confirm": "confirmed", "choice": "selected"}


@rule("WF411", "ignored-answer", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        for step in use.scope.walk() if use.is_clear else ():
            if isinstance(step, Prompt) and step.prompt_kind in _DECIDING and not _is_read(use, step):
                acting = _acting_after(use, step)
                if acting is not None:
                    yield _finding(file.language, step, acting)


def _is_read(use: ScopeUse, prompt: Prompt) -> bool:
    """Whether some step reads the answer, or might have meant to."""
    return any(use.is_read(name) for name in prompt.writes()) or prompt.name in use.meant


def _acting_after(use: ScopeUse, prompt: Prompt) -> Step | None:
    """The first step in the file that changes something outside of the run and can follow the prompt."""
    flow = use.flow
    nodes = [state.id for state in flow.states.values() if state.step is prompt]
    after = flow.reach([edge.target for node in nodes for edge in flow.out.get(node, ())])
    following = {flow.step(node) for node in after}
    return next((step for step in use.scope.walk() if step.acts and step in following), None)


def _finding(language: Language, prompt: Prompt, acting: Step) -> Finding:
    answer = _DECIDING[prompt.prompt_kind]
    kept = next(iter(prompt.writes()), None)
    path = language.name_of("state", kept or "answer", answer)
    first = "" if kept else "keep the answer (`output_to: answer`) and "
    return Finding(
        prompt.span,
        f"nothing reads the answer to {language.call(prompt)}: "
        f"{language.call(acting)} can run whatever the person says",
        help=f"{first}test `{path}`; if no answer is needed, make it `prompt_type: info`",
        notes=(Note("this step can run whatever the answer is", acting.span),),
        step=prompt.name,
    )
