"""Nothing reads a field of `initial_state`.

No template reads it, and the workflow or task returns another value, so the field has no effect: it is a leftover, or a
step should read it. If a run ends without `return`, its state is its result and every field counts as read.

Bad:

```yaml
initial_state:
  attempts: 0
steps:
  - {id: build, type: shell, command: make, output_to: build}
  - {id: done, type: return, needs_state: [build], value: "{{ state.build.exit_code }}"}
```

Good:

```yaml
steps:
  - {id: build, type: shell, command: make, output_to: build}
  - {id: done, type: return, needs_state: [build], value: "{{ state.build.exit_code }}"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note, Severity
from wfc.language.dialect import Language
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import remove_entries
from wfc.rules.common.state import ScopeUse, scope_uses
from wfc.yaml import Mapping, Span


@rule("WF307", "unused-initial", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        node = use.scope.node.get("initial_state")
        if use.is_clear and use.is_whole and isinstance(node, Mapping) and not use.gives_state:
            yield from _findings(file.language, use, node)


def _findings(language: Language, use: ScopeUse, node: Mapping) -> Iterator[Finding]:
    unread = [entry for entry in node.entries if not use.is_read(entry.key.text)]
    if not unread:
        return
    # A step that lists the field requires it to exist, so its list must be fixed first (WF302).
    free = [entry for entry in unread if entry.key.text not in use.listed]
    fixes = remove_entries(use.scope.node, "initial_state", free, "field")
    writers = _writers(use)
    for entry in unread:
        name = entry.key.text
        written = writers.get(name)
        yield Finding(
            entry.key.span,
            f"unused initial field `{name}`: nothing reads it, and {use.scope.known_as} returns another value",
            help=f"use `{language.name_of('state', name)}` in a step, or remove the field from `initial_state`",
            notes=(Note("it is written here, but never read", written),) if written else (),
            fix=fixes.get(name),
        )


def _writers(use: ScopeUse) -> dict[str, Span]:
    """The first place that writes each field."""
    found: dict[str, Span] = {}
    for step in use.scope.walk():
        for name, (span, _) in step.writes().items():
            found.setdefault(name, span)
    return found
