"""A reference is spelt as in another language, and stays in the text as it is.

The steps language writes `{{ inputs.name }}`, a graph of blocks writes `${inputs.name}`. Each leaves the other's
spelling alone: it is only text there, and whoever gets it finds the braces in it.

Bad:

```yaml
- id: greet
  type: shell
  command: echo ${inputs.name}
```

Good:

```yaml
- id: greet
  type: shell
  command: echo {{ inputs.name | shquote }}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule

_SPELT_OTHERWISE = re.compile(r"\$\{\s*((?:inputs|state)\.[A-Za-z_][\w.-]*)\s*\}")


@rule("WF219", "foreign-reference", Severity.WARNING)
def check(unit: SourceFile) -> Iterator[Finding]:
    workflow = unit.workflow
    # A front end for another language knows its own spelling, and tells what is foreign to that.
    if workflow is None or workflow.surface is not None:
        return
    for scope in workflow.scopes:
        for step in scope.walk():
            for text in step.texts():
                for found in _SPELT_OTHERWISE.finditer(text.node.text) if text.is_text else ():
                    yield Finding(
                        text.at(*found.span()),
                        f"`{found[0]}` is only text here",
                        help=f"a reference is written `{{{{ {found[1]} }}}}`",
                        step=step.name,
                    )
