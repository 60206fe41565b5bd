"""Splitting empty text gives a list that is not empty.

`''.split(',')` is `['']`, a list with one empty item, so a command without output becomes one task with an empty name.
Test the text first. For lines, use `.splitlines()`, which returns `[]`; it also splits at form feeds and a few other
characters, and drops an empty last line.

Bad:

```yaml
- id: pick-files
  type: set_state
  needs_state: [listing]
  updates:
    files: "{{ state.listing.stdout.strip().split('\\n') }}"
```

Good:

```yaml
- id: pick-files
  type: set_state
  needs_state: [listing]
  updates:
    files: "{{ state.listing.stdout.splitlines() }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF216", "split-of-empty", Severity.WARNING, fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    for _, found in problems(file, Kind.EMPTY_SPLIT):
        yield finding(found)
