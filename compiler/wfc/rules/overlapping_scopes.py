"""Agents that work at the same time may write the same files.

In a phase with `parallel: true` each agent must have files of its own. A folder covers everything below it, `*` stays
within a folder, `**` does not, and `!path` takes a path away. The message shows a path that belongs to both scopes. If
neither agent can write, it is a warning. Scopes in words overlap only if they read the same.

Bad:

```yaml
phases:
  - number: 1
    parallel: true
    agents:
      - {type: backend, subagent_type: general-purpose, scope: [src/]}
      - {type: frontend, subagent_type: general-purpose, scope: ["src/web/**/*.ts"]}
    completion: all agents success
```

Good:

```yaml
phases:
  - number: 1
    parallel: true
    agents:
      - {type: backend, subagent_type: general-purpose, scope: [src/, "!src/web/"]}
      - {type: frontend, subagent_type: general-purpose, scope: ["src/web/**/*.ts"]}
    completion: all agents success
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF413", "overlapping-scopes")
def check(file: SourceFile) -> Iterator[Finding]:
    """Only the front end knows phases: the core has their steps."""
    return iter(())
