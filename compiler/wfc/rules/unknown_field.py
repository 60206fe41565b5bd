"""A key that nothing reads.

A misspelt key would be ignored without a word, so it is an error. Keys that belong to another kind of step are
WF009's.

Bad:

```yaml
- id: build
  type: shell
  comand: make
```

Good:

```yaml
- id: build
  type: shell
  command: make
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.core.shape import Shape
from wfc.diagnostics import Edit, Fix
from wfc.rules.base import Finding, rule
from wfc.rules.field_not_allowed import belongs_elsewhere
from wfc.source import Entry
from wfc.steps.base import Step, UnknownStep
from wfc.suggest import did_you_mean, nearest
from wfc.unit import Unit


@rule("WF004", "unknown-field", fix="unsafe")
def check(unit: Unit) -> Iterator[Finding]:
    for shape in unit.shapes:
        if isinstance(shape, UnknownStep):
            continue
        for entry in shape.node.entries:
            if entry.key.text not in shape.FIELDS and not belongs_elsewhere(shape, entry.key.text):
                yield _finding(shape, entry)


def _finding(shape: Shape, entry: Entry) -> Finding:
    free = [name for name in shape.FIELDS if shape.node.entry(name) is None]
    near = nearest(entry.key.text, free)
    fix = Fix(f"rename it to {near}", (Edit(entry.key.span, near),), safe=False) if near else None
    return Finding(
        entry.key.span,
        f"{shape.label} has no field `{entry.key.text[:60]}`",
        help=did_you_mean(entry.key.text, free if near else shape.FIELDS),
        fix=fix,
        step=shape.name if isinstance(shape, Step) else None,
    )
