"""An old spelling of a reactive workflow.

Values right under `default_state` belong to a tier, `raw` or `state`. An update has a `value`; `transform` is an old
word for it. An input is `inputs.x`, not `raw.x` or `state.x`. All of these are still read.

Bad:

```yaml
description: Keep count.
default_state:
  attempts: 0
steps:
  - {id: count, type: state_update, path: raw.attempts, operation: increment}
```

Good:

```yaml
description: Keep count.
default_state:
  raw:
    attempts: 0
steps:
  - {id: count, type: state_update, path: raw.attempts, operation: increment}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF012", "old-spelling", Severity.WARNING, fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    """The front end of the language reports it: the core AST has only the current spelling."""
    return iter(())
