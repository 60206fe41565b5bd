"""A session is used in different worktrees.

With `isolation: worktree`, each visit of a `delegate` step and each child of a `foreach` step works in a folder of its
own. An agent that continues a conversation there remembers files of another folder, which are not there or have
another content.

Bad:

```yaml
- {id: write, type: delegate, session: author, isolation: worktree, instructions: Write the code.}
- {id: review, type: delegate, session: author, instructions: Review what you have written.}
```

Good:

```yaml
- {id: write, type: delegate, isolation: worktree, instructions: Write the code., output_to: code}
- {id: review, type: delegate, session: author, instructions: Review the code.}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note, Severity
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.shared_session import session_of


@rule("WF605", "session-across-worktrees", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for scope in file.scopes:
        used: dict[str, list[Step]] = {}
        for step in scope.walk():
            word = session_of(step)
            if word is not None:
                used.setdefault(word.text, []).append(step)
        for label, steps in used.items():
            apart = [step for step in steps if step.values.get("isolation")]
            # The children of a foreach have different worktrees, even if no other step uses the session.
            if apart and (len(steps) > 1 or apart[0].child() is not None):
                other = next((step for step in steps if step is not apart[0]), None)
                word = session_of(other) if other is not None else None
                is_foreach = apart[0].child() is not None
                notes = (Note("also used here", word.span),) if word is not None else ()
                yield Finding(
                    apart[0].value_span("session"),
                    f"the session `{label}` is used in different worktrees",
                    help="remove `session` or `isolation`: each child has its own worktree"
                    if is_foreach
                    else "give the step with `isolation` no session, or one of its own",
                    notes=notes,
                    step=apart[0].name,
                )
