"""A value in a test that its workflow can never take or give.

An answer that does not match the result schema of its step would be refused, an input of the wrong type or a missing
required input keeps the run from starting, and an expected parameter that the action of a step does not have can never
match. Such a test fails whatever the workflow does.

Bad:

```yaml
# release.test.yaml
tests:
  - name: nobody approves
    answers: {build: {exit_code: 0}, approve: perhaps}
```

Good:

```yaml
# release.test.yaml
tests:
  - name: nobody approves
    answers: {build: {exit_code: 0}, approve: false}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.tests import findings_in_tests


@rule("WF120", "test-mismatch")
def check(file: SourceFile) -> Iterator[Finding]:
    yield from findings_in_tests(file, "WF120")
