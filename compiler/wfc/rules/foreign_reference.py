"""A reference in the notation of another language, which stays in the text as it is.

The steps language writes `{{ inputs.name }}`, a graph of blocks writes `${inputs.name}`. In the other language each is
plain text: the command or prompt gets the braces instead of the value.

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

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF219", "foreign-reference", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    foreign = file.language.foreign_reference
    # A dialect without a pattern reports such references itself.
    if foreign is None:
        return
    for step in file.steps:
        for text in step.texts():
            for found in foreign.finditer(text.node.text) if text.is_text else ():
                yield Finding(
                    text.at(*found.span()),
                    f"`{found[0]}` is only text here",
                    help=f"a reference is written `{file.language.hole(found[1])}`",
                    step=step.name,
                )
