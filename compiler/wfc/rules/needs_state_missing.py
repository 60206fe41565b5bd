"""A step reads a state field that its `needs_state` does not list.

A step can access only the fields that it declares. Reading another field fails the run at that step.

Bad:

```yaml
- id: report
  type: return
  needs_state: []
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

from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import list_fields
from wfc.rules.common.state import state_access


@rule("WF301", "needs-state-missing", fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    for access in state_access(file):
        step, language = access.step, file.language
        fix = list_fields(step, list(access.missing)) if access.missing else None
        for name, read in access.missing.items():
            yield Finding(
                read.span,
                f"undeclared read of `{language.name_of('state', name)}`: "
                f"it is not in the `needs_state` of {language.call(step)}",
                help=_help(step, name, list(access.missing)),
                fix=fix,
                step=step.name,
            )


def _help(step: Step, name: str, names: list[str]) -> str:
    if step.node.entry("needs_state"):
        return f"add `{name}` to `needs_state`"
    return f"add `needs_state: [{', '.join(names)}]`"
