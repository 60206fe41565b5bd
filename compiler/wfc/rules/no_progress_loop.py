"""No iteration of a loop changes anything that its condition reads.

The condition has the same value each time, so the loop either ends at once or runs until `max_iterations` is reached
and the run fails. Let a step inside the loop write a field that the condition reads, or leave the loop with a `break`.
A loop whose condition reads only inputs, and that handles its end (`else`, `on_error`), is treated as a fixed number of
iterations and not reported.

Bad:

```yaml
- {id: first-look, type: shell, command: ./health, output_to: health}
- id: poll
  type: while
  needs_state: [health]
  if: "{{ state.health.exit_code != 0 }}"
  max_iterations: 10
  steps:
    - {id: check, type: shell, command: ./health}
```

Good:

```yaml
- {id: first-look, type: shell, command: ./health, output_to: health}
- id: poll
  type: while
  needs_state: [health]
  if: "{{ state.health.exit_code != 0 }}"
  max_iterations: 10
  steps:
    - {id: check, type: shell, command: ./health, output_to: health}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note, Severity
from wfc.language.dialect import Language
from wfc.language.scopes import EVERYWHERE
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import CHILD_IN_TURN
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.flow import Loop, Loops
from wfc.rules.common.state import scope_uses
from wfc.template import Read
from wfc.yaml import Span

_SHOWN = 4
_FIXED = CHILD_IN_TURN | EVERYWHERE
_CHANGING = frozenset({"now", "uuid", "random"})
"""Functions and filters that may return a different value each time."""


@rule("WF405", "no-progress-loop", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        yield from (_to_itself(file.language, step) for step in use.scope.walk() if _is_own(step))
        if use.is_clear:
            loops = Loops(use)
            for loop in loops.found():
                if _is_own(loop.step):
                    continue
                if not any(_may_change(loops, loop, text) for text in loop.decisions):
                    yield from _finding(file.language, loop)


def _is_own(step: Step) -> bool:
    target = step.jump()
    return target is not None and target.text == step.name


def _to_itself(language: Language, step: Step) -> Finding:
    return Finding(
        step.value_span("target"),
        f"{language.call(step)} jumps to itself: no step runs between two jumps",
        help="name the step to repeat from",
        step=step.name,
    )


def _may_change(loops: Loops, loop: Loop, text: Text) -> bool:
    template = text.template
    # The clock, for example, changes without a step.
    if _CHANGING & {use.name for use in (*template.functions, *template.filters)}:
        return True
    for read in template.reads:
        name = read.path[0].name if read.path else None
        if read.root == "state" and (not isinstance(name, str) or loops.writes(loop, name)):
            return True
    return False


def _finding(language: Language, loop: Loop) -> Iterator[Finding]:
    reads = [(text, read) for text in loop.decisions for read in text.template.reads if read.root in _FIXED]
    # WF210 reports a condition that reads nothing.
    if not reads or (loop.has_rest and all(read.root != "state" for _, read in reads)):
        return
    text, read = reads[0]
    names = list(dict.fromkeys(_name(read) for _, read in reads))
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    step = loop.step
    yield Finding(
        text.at(read.start, read.end),
        f"nothing {_where(language, step)} changes {shown}: the loop ends at once or reaches `max_iterations`",
        help="let a step inside the loop write a field that the condition reads",
        notes=(Note("this jump closes the loop", place),) if (place := _jump(step)) else (),
        step=step.name,
    )


def _name(read: Read) -> str:
    first = read.path[0].name if read.path else None
    return f"{read.root}.{first}" if first is not None else read.root


def _where(language: Language, step: Step) -> str:
    target = step.jump()
    name = language.call(step)
    return f"between `{target.text}` and {name}" if target is not None else f"inside {name}"


def _jump(step: Step) -> Span | None:
    target = step.jump()
    return target.span if target is not None else None
