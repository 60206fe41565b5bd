"""A step lists a state field that it does not read.

`needs_state` tells a reviewer what a step can see, so an entry without a use misleads. Steps inside a
condition, a loop or a branch have lists of their own: what they read is not read by the step around
them. A step that looks at the whole state, as `state | tojson` does, uses all that it lists.

Bad:

```yaml
- id: report
  type: return
  needs_state: [total, build]
  value: "{{ state.total }}"
```

Good:

```yaml
- id: report
  type: return
  needs_state: [total]
  value: "{{ state.total }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note, Severity
from wfc.language.dialect import Language
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import unlist
from wfc.rules.common.state import StepAccess, state_access


@rule("WF302", "needs-state-unused", Severity.WARNING, fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    for access in state_access(file):
        if access.unused or access.repeated:
            yield from _findings(file.language, access)


def _findings(language: Language, access: StepAccess) -> Iterator[Finding]:
    step = access.step
    has_steps = any(step.blocks())
    fix = unlist(step, [*access.unused, *access.repeated])
    for word in access.unused:
        yield Finding(
            word.span,
            f"{language.call(step)} lists `{word.text}` in `needs_state` and does not read it",
            help="take it out" + ("; the steps inside it list what they read" if has_steps else ""),
            fix=fix,
            step=step.name,
        )
    first = {word.text: word for word in reversed(step.declared)}
    for word in access.repeated:
        note = Note("it is listed here already", first[word.text].span)
        yield Finding(
            word.span,
            f"{language.call(step)} lists `{word.text}` in `needs_state` twice",
            help="take one out",
            notes=(note,),
            fix=fix,
            step=step.name,
        )
