"""A file that a workflow names is missing, or can't be used.

The text of `instructions_file` becomes part of the module, so the file must exist when the workflow is compiled:
text in UTF-8 (.md or .txt, at most 64 KiB), relative to the workflow, and inside the project. A link that leads out of
the project is refused, too. The same holds for `imports` of the reactive language, which name YAML files beside the
workflow or in a folder of workflows.

Bad: there is no such file.

```yaml
- {id: review, type: delegate, instructions_file: prompts/reviw.md}
```

Good: the file is in the folder of the workflow.

```yaml
- {id: review, type: delegate, instructions_file: prompts/review.md}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF117", "missing-file")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        word = step.values.get("instructions_file")
        if isinstance(word, Word) and step.include_problem:
            yield Finding(
                word.span,
                f"unusable file: {step.include_problem}",
                help="name a text file of the project, relative to the folder of the workflow",
                step=step.name,
            )
