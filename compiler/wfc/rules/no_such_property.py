"""A template reads a property, an item or a method that the value does not have.

What each kind of step gives back is known: a shell step `stdout`, `stderr` and `exit_code`, a confirm prompt
`confirmed`, an action with a `result_schema` what that lists. Reading anything else fails the step in the
middle of a run. Where it goes wrong only for some values, as for the children of a foreach that failed, it
is a warning.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: confirm, message: "Go on?", output_to: answer}
- id: decide
  type: condition
  needs_state: [answer]
  if: "{{ state.answer.confirm }}"
  then: [{id: stop, type: return}]
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: confirm, message: "Go on?", output_to: answer}
- id: decide
  type: condition
  needs_state: [answer]
  if: "{{ state.answer.confirmed }}"
  then: [{id: stop, type: return}]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.injection import escapes_in
from wfc.rules.common.typed import finding, problems


@rule("WF206", "no-such-property", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for _, found in problems(file, Kind.PROPERTY):
        # A name that leads to Python is more than a slip: WF507 speaks of it.
        if any(
            escape.start <= found.problem.start < escape.end for escape in escapes_in(found.text.template)
        ):
            continue
        yield finding(found, severity=None if found.problem.sure else Severity.WARNING)
