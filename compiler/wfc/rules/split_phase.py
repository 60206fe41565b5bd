"""One phase is written in several places.

Two parts with the same number and the same name are read as one phase, with the agents of both in order. In a
`workflow.md` with a fence for each agent that is often meant; it may also be a number that was not changed after
copying.

Bad:

```yaml
phases:
  - {number: 1, name: Review, agents: [{type: Explore}], completion: all agents success}
  - {number: 1, name: Review, agents: [{type: Plan}]}
```

Good:

```yaml
phases:
  - {number: 1, name: Review, agents: [{type: Explore}, {type: Plan}], completion: all agents success}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF116", "split-phase", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    """Only the front end knows phases: the core has their steps."""
    return iter(())
