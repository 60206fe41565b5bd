"""A derived field is read whose expression may have failed, and then it is null.

By default, a failure of a derived field does not fail the run: the field gets its `fallback`, or null without one. A
step that reads it then works with null as if that were the value.

Bad:

```yaml
initial_state: {done: 0, files: []}
derived:
  share: {value: "{{ 100 * state.done / (state.files | length) }}"}
steps:
  - {id: tell, type: prompt, prompt_type: info, needs_state: [share], message: "{{ state.share }} % done"}
```

Good:

```yaml
initial_state: {done: 0, files: []}
derived:
  share: {value: "{{ 100 * state.done / (state.files | length) }}", fallback: 0}
steps:
  - {id: tell, type: prompt, prompt_type: info, needs_state: [share], message: "{{ state.share }} % done"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.analysis.types.workflow import types_of
from wfc.findings import Note, Severity
from wfc.language.derived import Derivation
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.state import StateRead, scope_uses


@rule("WF317", "silent-null", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    types = types_of(file)
    uses = {use.scope: use for use in scope_uses(file)}
    for scope in types.scopes if types else ():
        for one, risks in scope.risks.items():
            # WF218 reports text that may not be JSON.
            others = [risk for risk in risks if risk.problem.kind is not Kind.UNCHECKED_PARSE]
            if not isinstance(one, Derivation) or one.fallback or one.setting("on_error") != "use_fallback":
                continue
            read = next(
                (read for read in uses[scope.scope].reads.get(one.field, ()) if _relies_on(read)), None
            )
            if read is not None and others:
                risk = others[0]
                yield Finding(
                    read.span,
                    f"`{file.language.name_of('state', one.field)}` is null if its computation has failed",
                    help=f"give `{one.field}` a `fallback`, or let the failure count with `on_error: propagate`",
                    notes=(Note(f"it may fail: {risk.problem.message}", risk.span),),
                    step=read.step.name,
                )


def _relies_on(found: StateRead) -> bool:
    """Whether a read takes the value as it is, without a test or a default."""
    return not found.read.guarded
