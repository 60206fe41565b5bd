"""A condition always has the same value.

`when: true` has no effect. If a choice is compared with a value that it never has, one branch never runs. The answer
object of a prompt is never empty, so as a condition it is always true.

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
from math import inf

from wfc.analysis.types.constants import Values, decide
from wfc.analysis.types.environment import Kind
from wfc.findings import Fix, Severity
from wfc.language import types
from wfc.language.ast import walk
from wfc.language.dialect import Language
from wfc.language.scopes import blocks_of
from wfc.language.steps.condition import Condition
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import remove_entry, remove_run, unwrap
from wfc.rules.common.flow import ConditionField, condition_fields, never_goes_on
from wfc.rules.common.state import ScopeUse, scope_uses
from wfc.rules.common.typed import finding, problems

_UNRESOLVED = frozenset({"WF202", "WF206", "WF507"})
"""What another language reports about a reference that it can't translate."""
_NOTHING_KNOWN = Values(state=lambda name: types.ANY, inputs=lambda name, length: (-inf, inf))


@rule("WF210", "constant-condition", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    decided: set[Text] = set()
    unresolved = [one.span for one in file.reports if one.severity is None and one.code in _UNRESOLVED]
    for field in condition_fields(file):
        # Nothing is known about a condition that refers to nothing: its translation has null in that place.
        if any(field.text.span.start <= span.start < field.text.span.end for span in unresolved):
            decided.add(field.text)
            continue
        value = _value(field)
        if value is None or (value and field.step.repeats):
            # `while: true` is the usual form of a loop that only `break` ends.
            continue
        decided.add(field.text)
        yield Finding(
            field.text.span,
            f"this `{file.language.key(field.name)}` is always {str(value).lower()}",
            help=_help(file.language, field, value),
            fix=_fix(file, field, value),
            step=field.step.name,
        )
    # The type analysis also decides conditions without names, which are reported above with a fix.
    for _, found in problems(file, Kind.CONSTANT):
        if found.text not in decided:
            yield finding(found)


def _value(field: ConditionField) -> bool | None:
    """The value of a condition that contains no names."""
    text = field.text
    if not text.is_text:
        return bool(text.data)
    if not text.node.text.strip():
        return False
    template = text.template
    expression = template.expression if template.ast is not None and not template.reads else None
    return decide(expression, _NOTHING_KNOWN) if expression is not None else None


def _help(language: Language, field: ConditionField, value: bool) -> str:
    if field.name == "when":
        return (
            f"remove the `{language.key('when')}`"
            if value
            else f"the {language.step} never runs: remove it, or correct the condition"
        )
    return f"move the {language.step}s out of the branch" if value else f"the {language.step}s never run"


def _fix(file: SourceFile, field: ConditionField, value: bool) -> Fix | None:
    """Removes the condition. None if that would leave unused parts behind."""
    step = field.step
    if field.entry is None:
        return None
    if field.name == "when" and value:
        return remove_entry(step.node, field.entry, "remove the condition")
    use = next(use for use in scope_uses(file) if step in use.scope.walk())
    targets = {word.text for other in use.scope.walk() for _, word in other.jumps()}
    if field.name == "if" and isinstance(step, Condition) and (step.then if value else step.else_):
        return _without_choice(step, value, use) if step.name not in targets else None
    # A jump must keep its target, and a list of steps must not become empty.
    is_target = any(inner.name in targets for inner in walk([step]))
    if is_target or len(blocks_of(use.scope)[step].steps) == 1 or not use.can_do_without([step]):
        return None
    return remove_run(step.node.span, step.node.span, f"remove {step.name}")


def _without_choice(step: Condition, value: bool, use: ScopeUse) -> Fix | None:
    kept, gone = (step.then, step.else_) if value else (step.else_, step.then)
    if step.when is not None or step.output_to or never_goes_on(kept or []):
        return None
    if not use.can_do_without(gone or []):
        return None
    return unwrap(step.node, "then" if value else "else", f"move the steps out of {step.name}")
