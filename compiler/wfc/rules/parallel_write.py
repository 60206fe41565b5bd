"""Two branches of a `parallel` write the same state field, or the same file.

Branches run concurrently, so the branch that happens to end last would win. Let each branch write its own field and
combine the fields in a step after the `parallel`. Steps whose `when` conditions exclude each other may write the same
file. The finding is a warning if two steps are not ordered but happen to run one after the other.

Bad:

```yaml
- id: checks
  type: parallel
  branches:
    lint:
      - {id: run-lint, type: shell, command: make lint, output_to: result}
    types:
      - {id: run-types, type: shell, command: make types, output_to: result}
```

Good:

```yaml
- id: checks
  type: parallel
  branches:
    lint:
      - {id: run-lint, type: shell, command: make lint, output_to: lint}
    types:
      - {id: run-types, type: shell, command: make types, output_to: types}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.ast import walk
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.language.steps.files import Written, may_clash, written_by
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Span


@rule("WF310", "parallel-write")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        yield from _clashes(file.language, step)
        yield from _files(file.language, step)


def _clashes(language: Language, parallel: Step) -> Iterator[Finding]:
    first: dict[str, tuple[str, Span]] = {}
    for branch, steps in parallel.concurrent().items():
        for name, (step, span) in _writes(steps).items():
            if name not in first:
                first[name] = (branch, span)
                continue
            other, place = first[name]
            yield Finding(
                span,
                f"concurrent writes to `{name}` in the branches `{other}` and `{branch}` of {language.call(parallel)}",
                help="use a separate field for each branch",
                notes=(Note(f"`{other}` writes it here", place),),
                step=step.name,
            )


def _writes(steps: list[Step]) -> dict[str, tuple[Step, Span]]:
    """The fields that a branch writes, each with its first write."""
    found: dict[str, tuple[Step, Span]] = {}
    for step in walk(steps):
        for name, (span, _) in step.writes().items():
            found.setdefault(name, (step, span))
    return found


def _files(language: Language, parallel: Step) -> Iterator[Finding]:
    written: dict[str, list[tuple[str, Written]]] = {}
    for branch, steps in parallel.concurrent().items():
        for file in (file for step in walk(steps) for file in written_by(step)):
            name, step, path = file
            # Within one branch the steps run in order, so only writes of different branches clash. One finding per
            # write is enough.
            for other, (_, writer, place) in written.setdefault(name, []):
                if other != branch and may_clash(writer, step):
                    yield Finding(
                        path.span,
                        f"concurrent writes to this file: {language.call(writer)} and {language.call(step)} "
                        "run at the same time",
                        help="use a separate file for each, or let one wait for the other",
                        notes=(Note(f"{language.call(writer)} writes it too", place.span),),
                        step=step.name,
                    )
                    break
            written[name].append((branch, file))
