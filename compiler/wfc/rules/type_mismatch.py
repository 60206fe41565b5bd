"""An operation does not support the types of its operands.

Text can't be compared with a number, a boolean has no length, a number never equals text, and a text filter does not
accept an object. Types come from the results of steps, from `result_schema`, the declared inputs and `initial_state`.
Values of unknown type are not reported.

Bad:

```yaml
- {id: count, type: shell, command: ls | wc -l, output_to: count}
- id: warn
  type: prompt
  prompt_type: info
  needs_state: [count]
  when: "{{ state.count.stdout > 100 }}"
  message: That is a lot.
```

Good:

```yaml
- {id: count, type: shell, command: ls | wc -l, output_to: count}
- id: warn
  type: prompt
  prompt_type: info
  needs_state: [count]
  when: "{{ state.count.stdout | int > 100 }}"
  message: That is a lot.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, misfit_finding, misfits, problems


@rule("WF207", "type-mismatch")
def check(file: SourceFile) -> Iterator[Finding]:
    for _, found in problems(file, Kind.MISMATCH):
        yield finding(found, severity=None if found.problem.sure else Severity.INFO)
    for _, step, misfit in misfits(file, Kind.MISMATCH):
        yield misfit_finding(step, misfit)
