"""Nothing says when a phase is done.

The phase has neither `outputs` nor `completion`, so the reports of its agents are all that is judged. Name the files
that it writes, or criteria for which every report needs evidence.

Bad:

```yaml
phases:
  - {number: 1, agents: [{type: general-purpose}]}
```

Good:

```yaml
phases:
  - number: 1
    agents: [{type: general-purpose}]
    completion:
      - all tests pass
      - the changelog names the change
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF415", "no-completion", Severity.INFO)
def check(file: SourceFile) -> Iterator[Finding]:
    """Only the front end knows phases: the core has their steps."""
    return iter(())
