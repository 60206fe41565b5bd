"""The file is not valid YAML.

Tabs for indentation, an unclosed quote or bracket, a missing space after a colon: nothing else can be checked until
that is fixed. YAML tags (`!foo`) and several documents in one file are not part of the language.

Bad:

```yaml
- id: tell
  type: shell
  command: echo done: all tests pass
```

Good:

```yaml
- id: tell
  type: shell
  command: "echo done: all tests pass"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF001", "yaml-syntax")
def check(file: SourceFile) -> Iterator[Finding]:
    for problem in file.problems:
        if problem.kind == "syntax":
            notes = tuple(Note(text, span) for span, text in problem.related)
            yield Finding(problem.span, problem.message, help=problem.help, notes=notes)
