"""A division by a number that may be zero.

An empty list has the length 0, a counter starts at 0: dividing by it fails the step. Say what should come
out then.

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
