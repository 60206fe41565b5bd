"""Values of different types are compared with `==`.

In JavaScript, `==` converts its operands first: `'' == 0` and `'1' == 1` are true. `===` compares the values as they
are. Convert one of them where the types differ, so that the comparison is explicit.

Bad:

```yaml
expressions: javascript
steps:
  - {id: build, type: shell, command: make, output_to: build}
  - {id: ship, type: shell, needs_state: [build], when: "{{ state.build.exit_code == '0' }}", command: make ship}
```

Good:

```yaml
expressions: javascript
steps:
  - {id: build, type: shell, command: make, output_to: build}
  - {id: ship, type: shell, needs_state: [build], when: "{{ state.build.exit_code === 0 }}", command: make ship}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF222", "loose-equality", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for _, found in problems(file, Kind.LOOSE_EQUALITY):
        yield finding(found)
