"""A mark `secret: true` that hides nothing.

A secret is hidden wherever a run is shown: in its history and state, in errors, logs and `wfc runs`. An input with a
`default` has its value in the file, for everybody to read; and a step that keeps nothing has nothing to be hidden.

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
                "the default of a secret stands in the file",
                help="take it away, and make the input `required` if a run can't do without it",
            )
        if isinstance(shape, Keeping) and shape.secret and shape.secret.value and not shape.writes():
            yield Finding(
                shape.key_span("secret"),
                f"`{shape.name}` keeps nothing that could be a secret",
                help="name a field with `output_to`, or take `secret` away",
                step=shape.name,
            )


def _has_default(decl: InputDecl) -> bool:
    return decl.default is not None and decl.default.data not in (None, "")
