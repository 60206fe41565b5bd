"""Nothing reads a derived field.

No step and no other derived field reads it, and the workflow or task returns another value: computing it has no effect.
If a run ends without `return`, its state is its result and every field counts as read.

Bad:

```yaml
initial_state: {files: [a.py]}
derived:
  count: {value: "{{ state.files | length }}"}
steps:
  - {id: done, type: return, needs_state: [files], value: "{{ state.files }}"}
```

Good:

```yaml
initial_state: {files: [a.py]}
derived:
  count: {value: "{{ state.files | length }}"}
steps:
  - {id: done, type: return, needs_state: [count], value: "{{ state.count }}"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import remove_entries
from wfc.rules.common.state import scope_uses
from wfc.yaml import Mapping


@rule("WF316", "unused-computed", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        node = use.scope.node.get("derived")
        if not isinstance(node, Mapping) or not use.is_clear or not use.is_whole or use.gives_state:
            continue
        unread = [entry for entry in node.entries if not use.is_read(entry.key.text)]
        # A step that lists the field requires it to exist, so its list must be fixed first (WF302).
        free = [entry for entry in unread if entry.key.text not in use.listed]
        fixes = remove_entries(use.scope.node, "derived", free, "derived field")
        for entry in unread:
            name = entry.key.text
            yield Finding(
                entry.key.span,
                f"unused derived field `{name}`: nothing reads it, and {use.scope.known_as} returns another value",
                help=f"use `{file.language.name_of('state', name)}` in a step, or remove the field",
                fix=fixes.get(name),
            )
