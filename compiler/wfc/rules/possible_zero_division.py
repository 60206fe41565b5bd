"""A divisor may be zero.

The length of an empty list is 0, and a counter may start at 0. Division by zero fails the step, so handle that case.

Bad:

```yaml
- id: rate
  type: set_state
  needs_state: [results]
  updates:
    total: "{{ state.results | length }}"
    share: "{{ 100 / total }}"
```

Good:

```yaml
- id: rate
  type: set_state
  needs_state: [results]
  updates:
    total: "{{ state.results | length }}"
    share: "{{ 100 / total if total else 0 }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF215", "possible-zero-division", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for _, found in problems(file, Kind.ZERO_DIVISION):
        yield finding(found)
