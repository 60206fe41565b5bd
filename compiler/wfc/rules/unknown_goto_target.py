"""The target of a jump does not exist.

`target` and `else` of a goto, and `on_error: {goto: ...}`, refer to a step of the same workflow or task by its id.

Bad:

```yaml
steps:
  - {id: improve, type: delegate, instructions: "Improve the text."}
  - {id: again, type: goto, target: imporve, max_iterations: 3, else: done}
  - {id: done, type: return}
```

Good:

```yaml
steps:
  - {id: improve, type: delegate, instructions: "Improve the text."}
  - {id: again, type: goto, target: improve, max_iterations: 3, else: done}
  - {id: done, type: return}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.ast import Scope
from wfc.language.scopes import Targets
from wfc.language.steps.base import Step
from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc.rules.goto_into_scope import reach_hint
from wfc.suggest import Nearest


@rule("WF104", "unknown-goto-target", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    # WF105 reports jumps to steps of another task.
    known = {step.name for step in file.steps}
    for scope in file.scopes:
        wrong = [(step, word) for step in scope.walk() for _, word in step.jumps() if word.text not in known]
        if wrong:
            targets = Targets(scope)
            names = Nearest(targets)
            yield from (_finding(scope, step, word, targets, names) for step, word in wrong)


def _finding(scope: Scope, step: Step, word: Word, targets: Targets, names: Nearest) -> Finding:
    near = names.to(word.text)
    if near and not targets.can_reach(step, near):
        near = None
    return Finding(
        word.span,
        f"unknown jump target `{word.text}`: {scope.known_as} has no such step",
        help=f"did you mean `{near}`?" if near else reach_hint(targets, step, []),
        fix=rename(word.node, near, f"jump to {near}") if near else None,
        step=step.name,
    )
