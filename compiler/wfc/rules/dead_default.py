"""A `default` is never used.

`default` replaces an undefined value. A length, a comparison and a required property of a result are always defined. So
is null, which `default` keeps unless its second argument is `true`.

Bad:

```yaml
- id: report
  type: return
  needs_state: [results]
  value: "{{ state.results | length | default(0) }}"
```

Good:

```yaml
- id: report
  type: return
  needs_state: [results]
  value: "{{ state.results | length }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF211", "dead-default", Severity.WARNING, fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    for _, found in problems(file, Kind.DEAD_DEFAULT):
        yield finding(found)
