"""A field that steps of this type do not have.

For example, `output_to` on a `return`, or `command` on a `prompt`: the field would have no effect. The same holds for a
field that needs another one, such as `evidence` without `result: report`.

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

from wfc.language.shape import Shape
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Step, UnknownStep
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import remove_entry, rename
from wfc.yaml import Entry

_INSTEAD = {
    ("return", "when"): "put the return into the `then` of a condition",
    ("return", "output_to"): "it returns its `value`",
    ("parallel", "output_to"): "use `output_to` on the steps in its branches",
    ("while", "output_to"): "use `output_to` on the steps in the loop",
    ("condition", "steps"): "the steps go into `then` and `else`",
    ("foreach", "steps"): "the steps go into a task under `tasks:`, which `task` names",
}
"""Advice for fields that belong elsewhere. For others, the help lists the step types that have the field."""
_SUBSTANCE = frozenset(
    {"if", "when", "then", "else", "steps", "branches", "on_error", "retry", "fails_on_exit"}
    | {"command", "instructions", "task", "tool", "updates", "workflow"}
)
"""Fields that say what happens, and when: without them the workflow would do something else, so no fix removes them."""


@rule("WF009", "field-not-allowed", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        for entry in step.unknown if not isinstance(step, UnknownStep) else ():
            if belongs_elsewhere(step, entry.key.text):
                yield _finding(step, entry)
        for name, why, help in step.idle_fields():
            yield Finding(step.key_span(name), f"`{name}` has no effect: {why}", help=help, step=step.name)


def _finding(step: Step, entry: Entry) -> Finding:
    key = entry.key.text
    fields = ", ".join(f"`{name}`" for name in step.FIELDS if name not in ("id", "type"))
    advice = _INSTEAD.get((step.kind, key)) or f"`{key}` is for {_owners(key)}; {step.label} takes {fields}"
    fix = remove_entry(step.node, entry, f"remove {key}") if key not in _SUBSTANCE else None
    if key == "if" and "when" in step.FIELDS and step.node.entry("when") is None:
        advice, fix = "did you mean `when`?", rename(entry.key, "when", "rename it to when")
    return Finding(entry.key.span, f"{step.label} takes no `{key}`", help=advice, fix=fix, step=step.name)


def belongs_elsewhere(shape: Shape, key: str) -> bool:
    """Whether a key that this step does not have is a field of other steps."""
    if not isinstance(shape, Step) or key in shape.FIELDS:
        return False
    return any(key in kind.FIELDS for kind in STEP_TYPES.values())


def _owners(key: str) -> str:
    owners = [f"`{name}`" for name, kind in STEP_TYPES.items() if key in kind.FIELDS]
    if len(owners) > 4:
        return ", ".join(owners[:3]) + " and others"
    return " and ".join(filter(None, [", ".join(owners[:-1]), owners[-1]]))
