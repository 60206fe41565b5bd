"""A workflow or task returns a value on some paths only.

On the others it reaches its end, where its whole state is the result, or returns nothing. A reader of the result has
to handle two shapes, and usually one of the paths was forgotten. End every path with a `return` that has a value, or
none of them.

Bad:

```yaml
steps:
  - {id: test, type: shell, command: make test, output_to: tests}
  - id: check
    type: condition
    needs_state: [tests]
    if: "{{ state.tests.exit_code != 0 }}"
    then:
      - {id: failed, type: return, value: {passed: false}}
  - {id: publish, type: shell, command: make publish}
```

Good:

```yaml
steps:
  - {id: test, type: shell, command: make test, output_to: tests}
  - id: check
    type: condition
    needs_state: [tests]
    if: "{{ state.tests.exit_code != 0 }}"
    then:
      - {id: failed, type: return, value: {passed: false}}
  - {id: publish, type: shell, command: make publish}
  - {id: published, type: return, value: {passed: true}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.control_flow import Flow, FlowEdge
from wfc.findings import Note, Severity
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.language.steps.return_ import Return
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.state import ScopeUse, scope_uses


@rule("WF404", "inconsistent-return", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        if use.is_clear:
            yield from _findings(file.language, use)


def _findings(language: Language, use: ScopeUse) -> Iterator[Finding]:
    flow = use.flow
    reached = dict.fromkeys(flow.step(node) for node in flow.states if node in flow.reachable)
    returns = [step for step in reached if isinstance(step, Return)]
    valued = next((step for step in returns if "value" in step.values), None)
    if valued is None:
        return
    note = Note(f"{language.call(valued)} returns a value", valued.span)
    for step in returns:
        # An unknown field may be a misspelt `value`, which another rule reports.
        if "value" not in step.values and step.FIELDS.keys() >= {
            entry.key.text for entry in step.node.entries
        }:
            yield Finding(
                step.span,
                f"{language.call(step)} returns nothing, but on another path {use.scope.known_as} returns a value",
                help="give it a `value` as well",
                notes=(note,),
                step=step.name,
            )
    ends = use.ends
    if ends:
        yield _at_the_end(language, use, ends, note)


def _at_the_end(language: Language, use: ScopeUse, ends: list[FlowEdge], note: Note) -> Finding:
    """One finding for all paths to the end, since a single `return` there fixes all of them."""
    edge = ends[-1]
    step = _last(use.flow, edge)
    return Finding(
        step.span if step else use.scope.span,
        f"{_how(language, step, edge)} {use.scope.known_as} ends without a value, but on another path it returns one",
        help=f"end with a `return` that has a value; without one, the state of {use.scope.known_as} is the result",
        notes=(note,),
        step=step.name if step else None,
    )


def _last(flow: Flow, edge: FlowEdge) -> Step | None:
    """The last step before the end; for the end of a branch, the step that has the branch."""
    return flow.step(edge.join if edge.join is not None else edge.source)


def _how(language: Language, step: Step | None, edge: FlowEdge) -> str:
    """A description of the path."""
    if step is None:
        return "here"
    if edge.event == "recover":
        return f"if {language.call(step)} fails,"
    if edge.guard is not None and edge.guard.name == "otherwise":
        if step.repeats:
            return f"after {language.call(step)},"
        if step.decision() is not None and step.when is None:
            return f"if the condition of {language.call(step)} is false,"
        return f"if {language.call(step)} is skipped,"
    return f"after {language.call(step)},"
