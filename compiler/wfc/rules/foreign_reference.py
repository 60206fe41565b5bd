"""A reference uses the notation of another language and is not replaced.

The steps language writes `{{ inputs.name }}`, and `${inputs.name}` is plain text there: the command or prompt contains
the braces instead of the value. A file of blocks writes its references in one of the two notations; one in the other
notation is an error.

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
from wfc.rules.common.state import foreign_references


@rule("WF219", "foreign-reference", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for step, text, found in foreign_references(file):
        # In JavaScript, `${...}` is part of the language.
        if text.template.language == "javascript" and not text.template.is_literal:
            continue
        # A variable of the shell or of jq may have that name.
        if text is step.values.get("command") and not found[0].endswith("}"):
            continue
        yield Finding(
            text.at(*found.span()),
            f"reference not replaced: `{found[0]}` is plain text here",
            help=f"write the reference as `{file.language.hole(found[1])}`",
            step=step.name,
        )
