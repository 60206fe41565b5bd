"""The first, largest or n-th item is read from a list or text that may be empty.

`first`, `last`, `max`, `min`, `random` and `[0]` have no value on an empty list, and a step that uses the value fails.
The finding is information, since most lists are not empty when they are read. It is a warning if the list is the result
of a search, which often finds nothing, or if it is certainly empty. A list is not reported if a condition tests it
before, if its declaration has `min_items` or `minItems`, or if its type is unknown.

Bad:

```yaml
- id: list
  type: mcp_call
  tool: storage.list
  result_schema: {type: array, items: {type: string}}
  output_to: issues
- id: newest
  type: return
  needs_state: [issues]
  value: "{{ state.issues | first }}"
```

Good:

```yaml
- id: list
  type: mcp_call
  tool: storage.list
  result_schema: {type: array, items: {type: string}}
  output_to: issues
- id: newest
  type: return
  needs_state: [issues]
  value: "{{ state.issues | first | default('none') }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF224", "possibly-empty", Severity.INFO)
def check(file: SourceFile) -> Iterator[Finding]:
    for _, found in problems(file, Kind.EMPTY):
        yield finding(found, severity=Severity.INFO if found.problem.only_possible else Severity.WARNING)
