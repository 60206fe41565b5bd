"""The body of an arrow function was meant as an object, but is a block.

In JavaScript, braces behind `=>` begin a block of statements. `x => { a: x }` is a block with a label and returns
nothing; with two properties it does not parse. Parentheses make it an object.

Bad:

```yaml
expressions: javascript
steps:
  - id: pairs
    type: set_state
    updates:
      pairs: "{{ inputs.modules.map(m => { path: m }) }}"
```

Good:

```yaml
expressions: javascript
steps:
  - id: pairs
    type: set_state
    updates:
      pairs: "{{ inputs.modules.map(m => ({ path: m })) }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Change
from wfc.findings import Fix
from wfc.language.scopes import template_sites
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import edit_in


@rule("WF221", "unparenthesised-object", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for site in template_sites(file.workflow) if file.workflow else ():
        for use in site.text.template.blocks:
            edits = [
                edit_in(site.text, change)
                for change in (Change(use.start, use.start, "("), Change(use.end, use.end, ")"))
            ]
            sure = tuple(edit for edit in edits if edit is not None)
            yield Finding(
                site.text.at(use.start, use.end),
                "this is a block of statements, not an object: the function returns nothing",
                help="put the object in parentheses: `=> ({ ... })`",
                fix=Fix("put the object in parentheses", sure, safe=False)
                if len(sure) == len(edits)
                else None,
                step=site.step.name,
            )
