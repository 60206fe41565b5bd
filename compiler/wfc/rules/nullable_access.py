"""A value that may be null is used without a check.

Examples are a field that starts as null and is written only on some paths, and an optional input. Reading a property of
the value fails the step if it is null.

Bad:

```yaml
initial_state: {review: null}
steps:
  - id: review
    type: delegate
    when: "{{ inputs.careful }}"
    instructions: Review the change.
    output_to: review
  - id: report
    type: return
    needs_state: [review]
    value: "{{ state.review.response }}"
```

Good:

```yaml
initial_state: {review: null}
steps:
  - id: review
    type: delegate
    when: "{{ inputs.careful }}"
    instructions: Review the change.
    output_to: review
  - id: report
    type: return
    needs_state: [review]
    value: "{{ state.review.response if state.review is not none else 'not reviewed' }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.analysis.types.lattice import options
from wfc.analysis.types.workflow import Located, ScopeTypes
from wfc.findings import Note, Severity
from wfc.language.types import NULL
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, misfit_finding, misfits, problems


@rule("WF217", "nullable-access", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for scope, found in problems(file, Kind.NULLABLE):
        notes = _reason(scope, found)
        if notes is not None:
            yield finding(found, notes=notes)
    for _, step, misfit in misfits(file, Kind.NULLABLE):
        yield misfit_finding(step, misfit)


def _reason(scope: ScopeTypes, found: Located) -> tuple[Note, ...] | None:
    """The path on which it is null; None if the conditions on that path exclude each other."""
    field, node = found.problem.field, found.node
    if field is None:
        return ()
    definitions = scope.inference.definitions
    null = 0
    for way in definitions.of_mask(scope.states.mask_at(node, field)):
        kind = definitions.types[way.number]
        if kind == NULL:
            null |= way.bit
        elif NULL in options(kind):
            return ()
    edges = scope.ways.find(node, field, null, found.problem.held) if null else []
    if edges is None:
        return None
    turning = scope.ways.explain(node, field, edges)
    return (Note(f"it is null on the path {turning.words}", turning.span),) if turning else ()
