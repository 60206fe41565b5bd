"""A step reads a state field that is not set on every path.

A step with `when` or in a branch writes the field. On the other path nothing writes it, and reading it fails the run. A
read under the same condition as the write is not reported.

Bad:

```yaml
- id: audit
  type: delegate
  when: "{{ inputs.audit }}"
  instructions: Audit the change.
  output_to: audit
- id: report
  type: return
  needs_state: [audit]
  value: "{{ state.audit.response }}"
```

Good:

```yaml
- id: audit
  type: delegate
  when: "{{ inputs.audit }}"
  instructions: Audit the change.
  output_to: audit
- id: report
  type: return
  needs_state: [audit]
  value: "{{ state.audit.response | default('not audited') }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.analysis.types.workflow import Located, ScopeTypes
from wfc.findings import Note, Severity
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF305", "maybe-unset", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    seen: set[tuple[Step, str | None]] = set()
    for scope, found in problems(file, Kind.UNSET):
        key = (found.step, found.problem.field)
        if not found.problem.sure and key not in seen:
            seen.add(key)
            yield from _findings(scope, found)


def _findings(scope: ScopeTypes, found: Located) -> Iterator[Finding]:
    field, node = found.problem.field, found.node
    definitions = scope.inference.definitions
    # WF303 reports fields that nothing writes; a step under construction may have none yet.
    if field is None or field not in definitions.by_field:
        return
    edges = scope.ways.find(node, field, definitions.unset(field), found.problem.held)
    if edges is None:
        return
    writers = [way for way in definitions.of_mask(scope.states.mask_at(node, field)) if way.step is not None]
    notes = tuple(Note(f"`{field}` is written here", way.span) for way in writers[:1])
    beside = scope.ways.beside(node, writers[0].step) if writers and writers[0].step else None
    if beside is not None:
        message = f"`{field}` may be unset: another branch of `{beside.name}` writes it at the same time"
        yield finding(
            found,
            message,
            notes,
            help=f"read `{field}` after `{beside.name}`, or write it before `{beside.name}`",
        )
        return
    turning = scope.ways.explain(node, field, edges)
    if turning is not None:
        notes = (Note("this selects the path", turning.span), *notes)
    yield finding(
        found,
        f"`{field}` may be unset: nothing writes it on {f'the path {turning.words}' if turning else 'some path'}",
        notes,
        help=f"give `{field}` a value in `initial_state`, or supply a fallback with `| default(...)`",
    )
