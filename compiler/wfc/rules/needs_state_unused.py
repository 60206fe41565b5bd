"""A step lists a state field that it does not read.

`needs_state` tells a reviewer which fields a step can access, so an unused entry is misleading. Steps inside a
condition, a loop or a branch have their own lists: a field that only they read is unused in the list of the step that
contains them. A step that reads the whole state, as in `state | tojson`, uses all fields in its list.

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
            f"unused entry `{word.text}` in `needs_state`: {language.call(step)} does not read it",
            help="remove it" + ("; the steps inside have their own lists" if has_steps else ""),
            fix=fix,
            step=step.name,
        )
    first = {word.text: word for word in reversed(step.declared)}
    for word in access.repeated:
        note = Note("first listed here", first[word.text].span)
        yield Finding(
            word.span,
            f"duplicate entry `{word.text}` in the `needs_state` of {language.call(step)}",
            help="remove one of them",
            notes=(note,),
            fix=fix,
            step=step.name,
        )
