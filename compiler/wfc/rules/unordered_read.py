"""A block reads the result of one that it does not wait for.

Blocks that don't wait for each other run side by side or in any order, so what is read may not be there yet. Waiting
through others counts. It is a warning where the other block happens to come earlier: the next change of a
`depends_on` may take that away. (Branches of a `parallel` that read each other's fields are WF305's.)

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
    """In the core steps come one after the other: only a front end can find this."""
    return iter(())
