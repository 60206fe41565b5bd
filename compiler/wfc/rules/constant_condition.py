"""A condition that comes out the same way every time.

`when: true` changes nothing; a choice compared with a value that it never has leaves a branch that is never
taken; an answer as a whole is never empty, whatever the answer was.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: confirm, message: "Go on?", output_to: answer}
- id: ship
  type: shell
  needs_state: [answer]
  when: "{{ state.answer }}"
  command: make ship
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: confirm, message: "Go on?", output_to: answer}
- id: ship
  type: shell
  needs_state: [answer]
  when: "{{ state.answer.confirmed }}"
  command: make ship
```
"""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from wfc.diagnostics import Fix, Severity
from wfc.infer.problems import Kind
from wfc.rules.base import Finding, rule
from wfc.rules.shared.condition_fields import ConditionField, condition_fields
from wfc.rules.shared.edits import remove_entry
from wfc.rules.shared.typed import finding, problems
from wfc.steps.while_ import While
from wfc.unit import Unit


@rule("WF210", "constant-condition", Severity.WARNING, fix="unsafe")
def check(unit: Unit) -> Iterator[Finding]:
    for field in condition_fields(unit):
        value = _value(field)
        if value is None or (value and isinstance(field.step, While)):
            # A loop that only `break` ends is written with a condition that is always true.
            continue
        yield Finding(
            field.text.span,
            f"this `{field.name}` is always {str(value).lower()}",
            help=_help(field, value),
            fix=_fix(field) if value else None,
            step=field.step.name,
        )
    for _, found in problems(unit, Kind.CONSTANT):
        yield finding(found)


def _value(field: ConditionField) -> bool | None:
    """How a condition without any names in it comes out."""
    text = field.text
    if not text.is_text:
        return bool(text.data)
    if not text.node.text.strip():
        return False
    expression = text.template.expression if text.template.ast is not None else None
    return bool(expression.value) if isinstance(expression, nodes.Const) else None


def _help(field: ConditionField, value: bool) -> str:
    if field.name == "when":
        return (
            "take the `when` away"
            if value
            else "the step is never taken: take it away, or mend the condition"
        )
    return "take the steps out of the branch" if value else "the steps are never taken"


def _fix(field: ConditionField) -> Fix | None:
    if field.name != "when" or field.entry is None:
        return None
    return remove_entry(field.step.node, field.entry, "remove the condition")
