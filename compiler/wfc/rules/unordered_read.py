"""A block reads the result of a block that it does not depend on.

Blocks that do not depend on each other run concurrently or in any order, so the result may not exist yet. Indirect
dependencies count. The finding is a warning if the other block happens to run earlier, since the next change of a
`depends_on` may alter that. (WF305 reports branches of a `parallel` that read each other's fields.)

Bad:

```yaml
blocks:
  - {id: build, type: Shell, inputs: {command: make}}
  - {id: note, type: CreateFile, inputs: {path: note.txt, content: "${blocks.build.stdout}"}}
```

Good:

```yaml
blocks:
  - {id: build, type: Shell, inputs: {command: make}}
  - {id: note, type: CreateFile, inputs: {path: note.txt, content: "${blocks.build.stdout}"}, depends_on: [build]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF313", "unordered-read")
def check(file: SourceFile) -> Iterator[Finding]:
    """Core steps are ordered, so only a front end can find this."""
    return iter(())
