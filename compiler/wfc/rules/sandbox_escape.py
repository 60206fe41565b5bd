"""A template accesses an attribute whose name begins with an underscore.

Such names lead from a value to Python's internals: known template sandbox escapes begin with `''.__class__.__mro__`.
Templates see only plain data, so the access fails here, but it rarely is an accident. Use brackets to read a key of
your own data such as `_id`.

Bad:

```yaml
- id: peek
  type: set_state
  needs_state: [answer]
  updates:
    kind: "{{ state.answer.__class__ }}"
```

Good:

```yaml
- id: peek
  type: set_state
  needs_state: [answer]
  updates:
    key: "{{ state.answer['_id'] }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.scopes import template_sites
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.injection import Escape, escapes_in


@rule("WF507", "sandbox-escape")
def check(file: SourceFile) -> Iterator[Finding]:
    for site in template_sites(file.workflow) if file.workflow else ():
        for found in escapes_in(site.text.template):
            yield Finding(
                site.text.at(found.start, found.end), _message(found), help=_help(found), step=site.step.name
            )


def _message(found: Escape) -> str:
    if found.name.startswith("__"):
        return f"sandbox escape attempt: `{found.name}` would access Python internals"
    return f"invalid attribute `{found.name}`: no attribute begins with an underscore"


def _help(found: Escape) -> str:
    if found.name.startswith("__"):
        return "remove it; if someone else wrote this template, find out why it is there"
    return f"use brackets to read a key of that name: `['{found.name}']`"
