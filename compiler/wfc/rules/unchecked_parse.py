"""An agent's reply is parsed as JSON without handling invalid JSON.

Agents add explanations or forget a bracket. With `result_schema` on the step that asks the agent, an invalid reply goes
back to the agent with the reason, and the result needs no parsing. Otherwise handle the failure with `on_error`.

Bad:

```yaml
- {id: ask, type: delegate, instructions: List the risks as a JSON array., output_to: answer}
- id: read
  type: set_state
  needs_state: [answer]
  updates:
    risks: "{{ state.answer.response | parse_json }}"
```

Good:

```yaml
- id: ask
  type: delegate
  instructions: List the risks.
  result_schema: {type: array, items: {type: string}}
  output_to: risks
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.analysis.types.workflow import Located, ScopeTypes, types_of
from wfc.findings import Note, Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, problems


@rule("WF218", "unchecked-parse", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for scope, found in problems(file, Kind.UNCHECKED_PARSE):
        if not found.step.recovers:
            yield finding(
                found,
                notes=_asked_by(scope, found),
                help="add a `result_schema` to the step that asks and use its result directly, or handle the "
                "failure with `on_error`",
            )

    types = types_of(file)
    for scope in types.scopes if types else ():
        for one, risks in scope.risks.items():
            for found in risks if not one.recovers else ():
                if found.problem.kind is Kind.UNCHECKED_PARSE:
                    yield finding(
                        found, help=f"give `{one.name}` a `fallback`, or handle the failure with `on_error`"
                    )


def _asked_by(scope: ScopeTypes, found: Located) -> tuple[Note, ...]:
    field = found.problem.field
    ways = scope.inference.definitions.by_field.get(field, []) if field else []
    asked = [way.step for way in ways if way.step is not None and way.step.kind == "delegate"]
    return (Note("this step asks the agent without a `result_schema`", asked[0].span),) if asked else ()
