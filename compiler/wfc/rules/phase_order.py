"""A phase requires a later one.

Phases run in the order of their numbers. `requires` names phases whose success a phase needs and whose reports its
agents get, so these must come before it.

Bad:

```yaml
phases:
  - {number: 1, id: build, requires: design, agents: [{type: general-purpose}], completion: all agents success}
  - {number: 2, id: design, agents: [{type: general-purpose}], completion: all agents success}
```

Good:

```yaml
phases:
  - {number: 1, id: design, agents: [{type: general-purpose}], completion: all agents success}
  - {number: 2, id: build, requires: design, agents: [{type: general-purpose}], completion: all agents success}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF114", "phase-order")
def check(file: SourceFile) -> Iterator[Finding]:
    """Only the front end knows phases: the core has their steps."""
    return iter(())
