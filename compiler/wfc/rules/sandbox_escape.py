"""A template reaches for an attribute that begins with an underscore.

Such names lead from a value to Python itself: `''.__class__.__mro__` is the beginning of every known way out of a
template. Templates see plain data, so that none of it works here; but nobody writes it by accident. A key of that
kind in your data, such as `_id`, is read with brackets.

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
        return f"`{found.name}` reaches behind the data into Python: templates can't, and must not try"
    return f"`{found.name}` begins with an underscore: no attribute does"


def _help(found: Escape) -> str:
    if found.name.startswith("__"):
        return "take it out; where someone else wrote this template, find out why it is there"
    return f"read a key of that name with brackets: `['{found.name}']`"
