"""A computed field has the name of a raw one.

Both exist, and a bare name, `this.name` and the final state show the computed one. `raw.name` reads the raw one.

Bad:

```yaml
description: Keep count.
default_state:
  raw: {files: "a,b"}
state_schema:
  computed:
    files: {from: raw.files, transform: "input.trim()"}
steps:
  - {id: say, type: user_message, message: "{{ files }}."}
```

Good:

```yaml
description: Keep count.
default_state:
  raw: {listing: "a,b"}
state_schema:
  computed:
    files: {from: raw.listing, transform: "input.trim()"}
steps:
  - {id: say, type: user_message, message: "{{ files }}."}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF314", "shadowed-field", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    """Only a language with several tiers of state has this. The core AST has one name per field."""
    return iter(())
