"""Steps that run at the same time share a session.

A session is one conversation with an agent. Two calls that continue it at the same time write into one transcript, and
each answers the other's question. So a session label must not occur in two branches of a parallel step, and the
children of a `foreach` with a session must run one after the other.

Bad:

```yaml
- id: both
  type: parallel
  branches:
    code: [{id: write-code, type: delegate, session: author, instructions: Write the code.}]
    docs: [{id: write-docs, type: delegate, session: author, instructions: Write the docs.}]
```

Good:

```yaml
- id: both
  type: parallel
  branches:
    code: [{id: write-code, type: delegate, session: coder, instructions: Write the code.}]
    docs: [{id: write-docs, type: delegate, session: writer, instructions: Write the docs.}]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.ast import walk
from wfc.language.steps.base import Step
from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF604", "shared-session")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        yield from _in_branches(step)
        word, child = session_of(step), step.child()
        if (
            word is not None
            and child is not None
            and not child.sequential
            and step.setting("max_parallel") != 1
        ):
            yield Finding(
                word.span,
                f"shared session: children that run at the same time would continue `{word.text}`",
                help="add `sequential: true`",
                step=step.name,
            )


def _in_branches(step: Step) -> Iterator[Finding]:
    first: dict[str, tuple[str, Word]] = {}
    for branch, steps in step.concurrent().items():
        for one in walk(steps):
            word = session_of(one)
            if word is None:
                continue
            other, place = first.setdefault(word.text, (branch, word))
            if other != branch:
                yield Finding(
                    word.span,
                    f"shared session: the branches `{other}` and `{branch}` continue `{word.text}` at the same time",
                    help="give each branch a session of its own",
                    notes=(Note("also used here", place.span),),
                    step=one.name,
                )


def session_of(step: Step) -> Word | None:
    """The session label of a step."""
    word = step.values.get("session")
    return word if isinstance(word, Word) else None
