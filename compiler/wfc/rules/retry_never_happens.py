"""A `retry` that does not happen when the author expects it.

The exit code of a command is data: a shell step whose command ends with 1 has succeeded, and is not tried again.
With `fails_on_exit: true`, a non-zero exit code is a failure, which `retry` and `on_error` see. A `retry` with
`max_attempts: 1` never tries again at all.

Bad:

```yaml
- {id: upload, type: shell, command: ./upload.sh, retry: {max_attempts: 3}}
```

Good:

```yaml
- {id: upload, type: shell, command: ./upload.sh, fails_on_exit: true, retry: {max_attempts: 3}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Fix, Severity
from wfc.language.steps.base import Retry, Step
from wfc.language.steps.shell import Shell
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import add_entry
from wfc.rules.common.state import ScopeUse, scope_uses


@rule("WF412", "retry-never-happens", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        for step in use.scope.walk():
            retry = step.values.get("retry")
            if not isinstance(retry, Retry):
                continue
            if retry.max_attempts is not None and retry.max_attempts.value == 1:
                yield Finding(
                    retry.value_span("max_attempts"),
                    "with one attempt there is no retry",
                    help="`max_attempts` counts the first attempt: write 2 or more, or remove `retry`",
                    step=step.name,
                )
            elif (
                isinstance(step, Shell)
                and not step.setting("fails_on_exit")
                and not _looks_at_code(use, step)
            ):
                yield Finding(
                    step.key_span("retry"),
                    f"{file.language.call(step)} is not tried again when its command fails: the exit code is data",
                    help="add `fails_on_exit: true`, which makes a non-zero exit code a failure",
                    fix=_fix(step),
                    step=step.name,
                )


def _looks_at_code(use: ScopeUse, step: Step) -> bool:
    """Whether the workflow tests the exit code itself: then `retry` is meant for timeouts."""
    for name in step.writes():
        if name in use.as_a_whole or name in use.meant:
            return True
        for found in use.reads.get(name, ()):
            path = [part.name for part in found.read.path[1:2]]
            if path not in (["stdout"], ["stderr"]):
                return True
    return not use.is_clear


def _fix(step: Step) -> Fix | None:
    entry = step.node.entry("retry")
    edit = add_entry(step.node, entry, "fails_on_exit: true") if entry is not None else None
    return Fix("let a non-zero exit code fail the step", (edit,), safe=False) if edit is not None else None
