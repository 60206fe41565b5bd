"""A field that exists, but not on this kind of step.

`output_to` on a `return`, `command` on a `prompt`: the field would have no meaning there.

Bad:

```yaml
- id: done
  type: return
  value: 1
  output_to: result
```

Good:

```yaml
- id: done
  type: return
  value: 1
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.core.shape import Shape
from wfc.rules.base import Finding, rule
from wfc.rules.edits import remove_entry
from wfc.steps import STEP_TYPES
from wfc.steps.base import Step, UnknownStep
from wfc.unit import Unit


@rule("WF009", "field-not-allowed", fix="unsafe")
def check(unit: Unit) -> Iterator[Finding]:
    for step in unit.steps:
        for entry in step.node.entries:
            if belongs_elsewhere(step, entry.key.text):
                yield Finding(
                    entry.key.span,
                    f"{step.label} takes no `{entry.key.text}`",
                    help=f"`{entry.key.text}` belongs to {_owners(entry.key.text)}; {step.label} takes "
                    + ", ".join(f"`{name}`" for name in step.FIELDS if name not in ("id", "type")),
                    fix=remove_entry(step.node, entry, f"remove {entry.key.text}"),
                    step=step.name,
                )


def belongs_elsewhere(shape: Shape, key: str) -> bool:
    """Whether a key that this step does not take is one that other steps do."""
    if not isinstance(shape, Step) or isinstance(shape, UnknownStep) or key in shape.FIELDS:
        return False
    return any(key in kind.FIELDS for kind in STEP_TYPES.values())


def _owners(key: str) -> str:
    owners = [name for name, kind in STEP_TYPES.items() if key in kind.FIELDS]
    return ", ".join(owners[:4]) + (" and others" if len(owners) > 4 else "")
