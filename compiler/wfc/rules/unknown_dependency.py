"""A block waits for one that isn't there, or for the same one twice.

Languages whose steps name what they wait for (`depends_on` of blocks) have this check. A name that is not there
would never end, so nothing could ever begin.

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


@rule("WF112", "unknown-dependency")
def check(file: SourceFile) -> Iterator[Finding]:
    """In the core a step comes after another by standing there: only a front end can find this."""
    return iter(())
