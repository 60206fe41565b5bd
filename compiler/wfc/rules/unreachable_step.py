"""A step can never run.

Steps after a `return`, or after a `goto`, `break` or `continue` without `when`, never run unless a jump leads there.
The same applies to steps after a condition if both branches leave. Usually a `when` is missing, or the steps are in the
wrong order.

Bad:

```yaml
steps:
  - {id: done, type: return, value: ok}
  - {id: clean-up, type: shell, command: rm -rf tmp}
```

Good:

```yaml
steps:
  - {id: clean-up, type: shell, command: rm -rf tmp}
  - {id: done, type: return, value: ok}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from wfc.findings import Fix, Note, Severity
from wfc.language.ast import Scope
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import remove_run
from wfc.rules.common.state import ScopeUse, scope_uses


@rule("WF401", "unreachable-step", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        scope, flow = use.scope, use.flow
        if not flow.reachable.issuperset(flow.states) and _jumps_are_known(scope):
            reached = {flow.step(node) for node in flow.reachable}
            for run, before in _runs(scope.block, reached):
                yield _finding(file.language, use, run, before)


def _jumps_are_known(scope: Scope) -> bool:
    """If a jump names an unknown step (WF104), any step could be the one that was meant."""
    names = {step.name for step in scope.walk()}
    return all(word.text in names for step in scope.walk() for _, word in step.jumps())


def _runs(block: list[Step], reached: set[Step | None]) -> Iterator[tuple[list[Step], Step | None]]:
    """Consecutive unreachable steps, with the step before them."""
    run: list[Step] = []
    before: Step | None = None
    for step in block:
        if step not in reached:
            run.append(step)
            continue
        if run:
            yield run, before
        run, before = [], step
        # Only reachable steps are searched inside: an unreachable one is reported as a whole.
        for inner in step.blocks():
            yield from _runs(inner, reached)
    if run:
        yield run, before


def _finding(language: Language, use: ScopeUse, run: list[Step], before: Step | None) -> Finding:
    others = len(run) - 1
    and_others = f" and the {f'{others} steps' if others > 1 else 'step'} after it" if others else ""
    notes = (Note(f"no run continues after {language.call(before)}", before.span),) if before else ()
    return Finding(
        run[0].span,
        f"unreachable: {language.call(run[0])}{and_others} can never run",
        help=_help(language, before) if before else "remove it",
        notes=notes,
        fix=_fix(run, before) if before and use.can_do_without(run) else None,
        step=run[0].name,
    )


def _help(language: Language, before: Step) -> str:
    if any(before.blocks()):
        return f"remove it, or let a path through {language.call(before)} lead to it"
    leave = (
        f"give {language.call(before)} a `when`"
        if "when" in before.FIELDS
        else f"put {language.call(before)} in a condition"
    )
    return f"remove it, move it above {language.call(before)}, or {leave}"


def _fix(run: list[Step], before: Step) -> Fix | None:
    spans = [before.node.span, *(step.node.span for step in run)]
    # A step that is an alias has the span of its anchor.
    if any(one.end > other.start for one, other in pairwise(spans)):
        return None
    names = ", ".join(step.name for step in run[:3]) + (", ..." if len(run) > 3 else "")
    return remove_run(spans[1], spans[-1], f"remove {names}")
