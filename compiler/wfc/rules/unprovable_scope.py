"""The scope of a writing agent in a parallel phase is in words, or missing.

Such a scope can't be compared with those of the other agents, and git can't show that the agent kept to it. Name the
folders or files that the agent may change.

Bad:

```yaml
phases:
  - number: 1
    parallel: true
    agents:
      - {type: backend, subagent_type: general-purpose, scope: the API}
      - {type: frontend, subagent_type: general-purpose, scope: [web/]}
    completion: all agents success
```

Good:

```yaml
phases:
  - number: 1
    parallel: true
    agents:
      - {type: backend, subagent_type: general-purpose, scope: [src/api/]}
      - {type: frontend, subagent_type: general-purpose, scope: [web/]}
    completion: all agents success
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF414", "unprovable-scope", Severity.INFO)
def check(file: SourceFile) -> Iterator[Finding]:
    """Only the front end knows phases: the core has their steps."""
    return iter(())
