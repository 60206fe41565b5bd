"""A block or phase depends on one that does not exist, or twice on the same one.

The check applies to languages in which steps name their dependencies (`depends_on` of blocks, `requires` of phases). A
block that waits for an unknown block could never start.

Bad:

```yaml
blocks:
  - {id: build, type: Shell, inputs: {command: make}}
  - {id: test, type: Shell, inputs: {command: make test}, depends_on: [biuld]}
```

Good:

```yaml
blocks:
  - {id: build, type: Shell, inputs: {command: make}}
  - {id: test, type: Shell, inputs: {command: make test}, depends_on: [build]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF112", "unknown-dependency", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    """Core steps are ordered by position, so only a front end can find this."""
    return iter(())
