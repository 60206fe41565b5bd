"""A jump leads into another branch, loop body or task, or out of a loop that does not exist.

A goto, its `else` and `on_error: {goto: ...}` can jump to a step of the same list of steps or of a list that contains
it. A branch, a loop body and a task always run from their first step, so a jump can't enter them elsewhere. `break` and
`continue` are valid only inside a `while`.

Bad:

```yaml
steps:
  - id: check
    type: condition
    if: "{{ inputs.fast }}"
    then:
      - {id: quick-test, type: shell, command: make quick}
    else:
      - {id: full-test, type: shell, command: make test}
  - {id: again, type: goto, target: full-test, max_iterations: 2, else: done}
  - {id: done, type: return}
```

Good:

```yaml
steps:
  - id: check
    type: condition
    if: "{{ inputs.fast }}"
    then:
      - {id: quick-test, type: shell, command: make quick}
    else:
      - {id: full-test, type: shell, command: make test}
  - {id: again, type: goto, target: check, max_iterations: 2, else: done}
  - {id: done, type: return}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from wfc.findings import Note
from wfc.language.ast import Scope
from wfc.language.scopes import Block, Targets
from wfc.language.steps.base import Step
from wfc.language.steps.break_ import Break
from wfc.language.steps.continue_ import Continue
from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule

_SHOWN = 6


@rule("WF105", "goto-into-scope")
def check(file: SourceFile) -> Iterator[Finding]:
    if not any(_is_jump(step) for step in file.steps):
        return
    # No jump can leave its scope: the steps of other scopes are collected only for the message.
    homes: dict[str, tuple[Scope, Step]] = {}
    for scope in file.scopes:
        for step in scope.walk():
            homes.setdefault(step.name, (scope, step))
    for scope in file.scopes:
        places = Targets(scope)
        for step, block in places.blocks.items():
            for _, word in step.jumps():
                if word.text in places:
                    if not places.can_reach(step, word.text):
                        yield _into_a_list(places, step, word)
                elif word.text in homes:
                    yield _into_a_scope(scope, places, step, word, *homes[word.text])
            if isinstance(step, Break | Continue) and not _is_in_loop(block):
                yield _without_loop(step)


def _is_jump(step: Step) -> bool:
    return isinstance(step, Break | Continue) or next(step.jumps(), None) is not None


def _into_a_list(places: Targets, step: Step, word: Word) -> Finding:
    block = places.block_of(word.text)
    return Finding(
        word.span,
        f"`{step.name}` can't jump to `{word.text}`, which is inside {block.label}",
        help=reach_hint(places, step, _doors(block, places.blocks[step])),
        notes=(Note(f"`{word.text}` is here", places[word.text].span),),
        step=step.name,
    )


def _into_a_scope(
    scope: Scope, places: Targets, step: Step, word: Word, home: Scope, target: Step
) -> Finding:
    return Finding(
        word.span,
        f"`{step.name}` can't jump to `{word.text}`: it is a step of {home.known_as}, not of {scope.known_as}",
        help=reach_hint(places, step, []),
        notes=(Note(f"`{word.text}` is here", target.span),),
        step=step.name,
    )


def _doors(block: Block, start: Block) -> list[str]:
    """The step that contains the target and is a valid target itself."""
    around = list(start.around())
    for inner in block.around():
        if inner.outer in around and inner.owner is not None:
            return [inner.owner.name]
    return []


def reach_hint(places: Targets, step: Step, first: list[str]) -> str:
    """The valid targets of the step, the likeliest first."""
    others = (name for name in places.in_reach(step) if name not in first)
    names = [*first, *islice(others, _SHOWN)]
    if not names:
        return "there is no step that it could jump to"
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return f"it can jump to {shown}" + (", ..." if len(names) > _SHOWN else "")


def _is_in_loop(block: Block) -> bool:
    return any(inner.owner is not None and inner.owner.repeats for inner in block.around())


def _without_loop(step: Step) -> Finding:
    does = "leave" if isinstance(step, Break) else "continue"
    return Finding(
        step.value_span("type"),
        f"`{step.kind}` outside of a `while`: `{step.name}` has no loop to {does}",
        help="put it in the `steps` of a `while`; use `return` to end the run, or `goto` to jump",
        step=step.name,
    )
