"""A computed field has the name of a raw one, or a field has the name of one of an included workflow.

Both exist. A bare name, `this.name` and the final state show the computed field, and `raw.name` reads the raw one. A
bare name that the file and an included workflow have means the file's own; `step_id.name` reads the other one.

Bad:

```yaml
description: Keep count.
default_state:
  raw: {files: "a,b"}
state_schema:
  computed:
    files: {from: raw.files, transform: "input.trim()"}
steps:
  - {id: say, type: user_message, message: "{{ files }}."}
```

Good:

```yaml
description: Keep count.
default_state:
  raw: {listing: "a,b"}
state_schema:
  computed:
    files: {from: raw.listing, transform: "input.trim()"}
steps:
  - {id: say, type: user_message, message: "{{ files }}."}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.workflow import types_of
from wfc.findings import Note, Severity
from wfc.language.types import Record
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Span


@rule("WF314", "shadowed-field", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    """Report names that the file and a called workflow have. The dialect reports fields of several tiers, since the
    core AST has one name per field."""
    seen: set[tuple[str, str]] = set()
    for one in file.parsed.shadowing if file.parsed else ():
        for called in one.called:
            if (one.name, called) in seen or not (place := _place_in(file, called, one.name)):
                continue
            seen.add((one.name, called))
            yield Finding(
                one.span,
                f"`{one.name}` is also a field of `{called}`, which was included before: this reads the file's own",
                f"rename one of them; `<step id>.{one.name}` reads the other one",
                notes=(Note(f"the field of `{called}`", place),),
                step=one.step or None,
            )


def _place_in(file: SourceFile, called: str, field: str) -> Span | None:
    """Where a called workflow first gives a value to a field of its result; None if it has no such field."""
    found = file.project.named(called)
    # An unknown or ambiguous name is reported elsewhere.
    types = types_of(found[0]) if len(found) == 1 and found[0] is not file else None
    returns = types.main.returns if types else None
    if types is None or not isinstance(returns, Record) or returns.get(field) is None:
        return None
    ways = types.main.inference.definitions.by_field.get(field, ())
    return next((way.span for way in ways if way.span is not None), found[0].source.span(0, 0))
