"""`secret: true` has nothing to hide.

The value of a secret is redacted in the history and state of a run, in errors, logs and `wfc runs`. The `default` of an
input is in the file, where everyone can read it; and a step that stores no result has nothing to redact.

Bad:

```yaml
inputs:
  token:
    type: string
    secret: true
    default: anonymous
```

Good:

```yaml
inputs:
  token:
    type: string
    secret: true
    required: true
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.shape import InputDecl
from wfc.language.steps.base import Keeping
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF508", "useless-secret")
def check(file: SourceFile) -> Iterator[Finding]:
    for shape in file.shapes:
        if isinstance(shape, InputDecl) and shape.is_secret and _has_default(shape):
            yield Finding(
                shape.value_span("default"),
                "exposed secret: its default is in the file",
                help="remove the default, and make the input `required` if a run needs it",
            )
        if isinstance(shape, Keeping) and shape.secret and shape.secret.value and not shape.writes():
            yield Finding(
                shape.key_span("secret"),
                f"useless `secret`: `{shape.name}` stores no result",
                help="store the result with `output_to`, or remove `secret`",
                step=shape.name,
            )


def _has_default(decl: InputDecl) -> bool:
    return decl.default is not None and decl.default.data not in (None, "")
