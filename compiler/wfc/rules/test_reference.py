"""A test names something that its workflow does not have.

An answer, an expected action, an expected field or an input of a test refers to the workflow by name. The name may be
misspelt, or the workflow has changed since the test was written. A step that asks for nothing, such as `set_state`,
takes no answer.

Bad:

```yaml
# release.test.yaml
tests:
  - name: the release is built
    answers: {biuld: {exit_code: 0}}
```

Good:

```yaml
# release.test.yaml
tests:
  - name: the release is built
    answers: {build: {exit_code: 0}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.tests import findings_in_tests


@rule("WF119", "test-reference")
def check(file: SourceFile) -> Iterator[Finding]:
    yield from findings_in_tests(file, "WF119")
