"""A condition tests a boolean that was converted to text.

Any non-empty text is true, including `'false'`. A value keeps its type only if it is a single `{{ expression }}`; with
other text or `{% if %}` around it, the value becomes text.

Bad:

```yaml
- id: judge
  type: set_state
  needs_state: [tests]
  updates:
    passed: "{% if state.tests.exit_code == 0 %}true{% else %}false{% endif %}"
- id: ship
  type: shell
  needs_state: [passed]
  when: "{{ state.passed }}"
  command: make ship
```

Good:

```yaml
- id: judge
  type: set_state
  needs_state: [tests]
  updates:
    passed: "{{ state.tests.exit_code == 0 }}"
- id: ship
  type: shell
  needs_state: [passed]
  when: "{{ state.passed }}"
  command: make ship
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.analysis.types.workflow import Located, ScopeTypes
from wfc.findings import Note, Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF213", "stringified-value", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for scope, found in problems(file, Kind.STRINGIFIED):
        yield finding(found, notes=_writer(scope, found))


def _writer(scope: ScopeTypes, found: Located) -> tuple[Note, ...]:
    """The place that converts it to text."""
    field = found.problem.field
    ways = scope.inference.definitions.by_field.get(field, []) if field else []
    written = [way.span for way in ways if way.step is not None and way.span is not None]
    return (Note("it is converted to text here", written[0]),) if written else ()
