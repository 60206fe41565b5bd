"""An update writes a field that the file does not declare, although it declares its fields.

It is probably a misspelt name. A file that declares no fields may write any. A `store_result` without a tier, such as
`store_result: found`, introduces a new field.

Bad:

```yaml
description: Keep count.
default_state:
  raw: {attempts: 0}
steps:
  - {id: count, type: state_update, path: raw.atempts, operation: increment}
```

Good:

```yaml
description: Keep count.
default_state:
  raw: {attempts: 0}
steps:
  - {id: count, type: state_update, path: raw.attempts, operation: increment}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF318", "undeclared-field", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    """Only a language whose files declare the fields that steps write has this."""
    return iter(())
