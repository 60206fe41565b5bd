"""A step keeps its result in a field that nothing reads.

The workflow or task returns something else, so the result is kept for nobody: either a step was meant to
use it, or `output_to` is left over. Where a run ends without `return`, its state is its result and
every field of it counts as read.

Bad:

```yaml
steps:
  - {id: build, type: shell, command: make, output_to: build}
  - {id: done, type: return, value: built}
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

from wfc.core.blocks import name_of
from wfc.diagnostics import Fix, Severity
from wfc.rules.base import Finding, rule
from wfc.rules.edits import remove_entry
from wfc.rules.scope_use import ScopeUse, scope_uses
from wfc.steps.base import Step
from wfc.unit import Unit


@rule("WF306", "dead-output", Severity.INFO, fix="unsafe")
def check(unit: Unit) -> Iterator[Finding]:
    for use in scope_uses(unit):
        if use.is_clear and use.is_whole and not use.gives_state:
            yield from _findings(use)


def _findings(use: ScopeUse) -> Iterator[Finding]:
    for step in use.scope.walk():
        output = step.values.get("output_to")
        if output is not None and not use.is_read(output.text) and step.name not in use.meant:
            yield Finding(
                output.span,
                f"nothing reads `{output.text}`, and {name_of(use.scope)} returns something else",
                help=f"use `state.{output.text}` in a later step, or take `output_to` away",
                fix=_fix(use, step),
                step=step.name,
            )


def _fix(use: ScopeUse, step: Step) -> Fix | None:
    entry = step.node.entry("output_to")
    # A step that lists the field needs it to be written: its list is to be mended first (WF302).
    if entry is None or step.values["output_to"].text in use.listed:
        return None
    return remove_entry(step.node, entry, "remove output_to")
