"""Both branches of a condition are the same.

Apart from step ids, `then` and `else` are equal, so the condition has no effect. One of them was probably copied and
never changed.

Bad:

```yaml
- id: which
  type: condition
  if: "{{ inputs.fast }}"
  then:
    - {id: test-fast, type: shell, command: make test}
  else:
    - {id: test-all, type: shell, command: make test}
```

Good:

```yaml
- id: which
  type: condition
  if: "{{ inputs.fast }}"
  then:
    - {id: test-fast, type: shell, command: make test-fast}
  else:
    - {id: test-all, type: shell, command: make test}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Fix, Note, Severity
from wfc.language.ast import walk
from wfc.language.steps.base import Step
from wfc.language.steps.condition import Condition
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import unwrap
from wfc.rules.common.state import scope_uses
from wfc.yaml import Mapping, Node, Scalar, Sequence

_JUMPS = frozenset({"target", "else", "goto"})
"""The keys whose values name steps."""


@rule("WF410", "identical-branches", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        steps = list(use.scope.walk())
        same = [step for step in steps if isinstance(step, Condition) and _is_same(step)]
        targets = {word.text for step in steps for _, word in step.jumps()} if same else set()
        for step in same:
            yield Finding(
                step.key_span("else"),
                f"`then` and `else` of {file.language.call(step)} are the same, so its condition has no effect",
                help="change one of the branches, or move the steps out of the condition",
                notes=(Note("`then` is here", step.key_span("then")),),
                fix=_fix(step, targets) if use.is_read_beside(step) else None,
                step=step.name,
            )


def _is_same(step: Condition) -> bool:
    then, other = step.node.get("then"), step.node.get("else")
    if not step.then or not step.else_ or then is None or other is None:
        return False
    if then is other:
        # The branches are one list and its alias. WF101 reports the duplicate ids, but the branches are still equal.
        return True
    return len(step.then) == len(step.else_) and _form(then, step.then) == _form(other, step.else_)


def _form(node: Node, steps: list[Step]) -> object:
    """A list of steps as data in which ids, and jumps to them, are replaced by positions."""
    places = {step.name: place for place, step in enumerate(walk(steps))}
    return _data(node, places, "")


def _data(node: Node, places: dict[str, int], key: str) -> object:
    match node:
        case Scalar():
            # Ids are unique in a workflow, so equal branches must differ in them.
            if key == "id" or (key in _JUMPS and node.text in places):
                return places.get(node.text, node.text)
            # With the type: in Python, `1`, `1.0` and `True` are equal.
            return (type(node.value).__name__, node.value)
        case Sequence():
            return [_data(item, places, "") for item in node.items]
        case Mapping():
            return {entry.key.text: _data(entry.value, places, entry.key.text) for entry in node.entries}


def _fix(step: Condition, targets: set[str]) -> Fix | None:
    """Replace the condition by the steps of `then`, if it only chooses and nothing jumps to it. There is no fix if its
    condition is the only reader of a field, which would then be unused.
    """
    if step.when is not None or "output_to" in step.values or step.name in targets:
        return None
    return unwrap(step.node, "then", f"move the steps out of {step.name}")
