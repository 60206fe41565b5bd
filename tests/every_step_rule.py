"""Every step is reported.

Bad: a workflow with a step.

Good: one without.
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF888", "every-step", severity=Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        yield Finding(step.span, f"`{step.name}` is a step", step=step.name)
