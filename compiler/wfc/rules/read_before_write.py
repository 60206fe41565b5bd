"""A step reads a state field that nothing has written yet.

No path to the step contains a write of the field, so the step fails in every run. The same applies if a step reads a
property of a field that is still null from `initial_state`.

Bad:

```yaml
- id: report
  type: prompt
  prompt_type: info
  needs_state: [build]
  message: "make ended with {{ state.build.exit_code }}."
- {id: build, type: shell, command: make, output_to: build}
```

Good:

```yaml
- {id: build, type: shell, command: make, output_to: build}
- id: report
  type: prompt
  prompt_type: info
  needs_state: [build]
  message: "make ended with {{ state.build.exit_code }}."
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.analysis.types.workflow import Located, ScopeTypes
from wfc.findings import Note
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF304", "read-before-write")
def check(file: SourceFile) -> Iterator[Finding]:
    seen: set[tuple[Step, str | None]] = set()
    for scope, found in problems(file, Kind.UNSET):
        key = (found.step, found.problem.field)
        if found.problem.sure and key not in seen:
            seen.add(key)
            yield _finding(file.language, scope, found)


def _finding(language: Language, scope: ScopeTypes, found: Located) -> Finding:
    field = found.problem.field or ""
    ways = scope.inference.definitions.by_field.get(field, [])
    writers = [way for way in ways if way.step is not None]
    first = ways[0] if ways else None
    notes = [Note("it is written here", way.span) for way in writers[:2]]
    if first is not None and first.step is None and first.span is not None:
        notes.insert(0, Note("it starts as null", first.span))
        message = f"`{language.name_of('state', field)}` is always null here: no earlier step writes it"
    else:
        message = f"`{field}` is never set here: no step before `{found.step.name}` writes it"
    return finding(found, message, tuple(notes), help=_help(found.step, writers[0].step if writers else None))


def _help(step: Step, writer: Step | None) -> str:
    if writer is None:
        return "write it in an earlier step, or give it a value in `initial_state`"
    if writer is step:
        return "the step writes it only at its end; give it a value in `initial_state`"
    return f"move `{writer.name}` before `{step.name}`, or give it a value in `initial_state`"
