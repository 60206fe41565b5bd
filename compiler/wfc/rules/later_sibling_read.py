"""An update reads a later key of the same `updates`, or itself.

Inside `updates`, a bare name refers to an earlier key. Values are computed from top to bottom and all written at the
end, so a later key has no value yet. `state.<field>` is the value from before the step.

Bad:

```yaml
- id: tally
  type: set_state
  needs_state: [results]
  updates:
    share: "{{ 100 / total if total else 0 }}"
    total: "{{ state.results | length }}"
```

Good:

```yaml
- id: tally
  type: set_state
  needs_state: [results]
  updates:
    total: "{{ state.results | length }}"
    share: "{{ 100 / total if total else 0 }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.dialect import Language
from wfc.language.scopes import Site, template_sites
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.template import Read
from wfc.yaml import Mapping


@rule("WF212", "later-sibling-read")
def check(file: SourceFile) -> Iterator[Finding]:
    for site in template_sites(file.workflow) if file.workflow else ():
        found: dict[str, Read] = {}
        for read in site.text.template.reads:
            if read.root not in site.names and site.names.comes_later(read.root):
                found.setdefault(read.root, read)
        for name, read in found.items():
            yield _finding(file.language, site, name, read)


def _finding(language: Language, site: Site, name: str, read: Read) -> Finding:
    span = site.text.at(read.start, read.start + len(name))
    own, before = site.names.key, language.name_of("state", name)
    if name == own:
        message = f"`{name}` has no value yet: the expression that computes it reads it"
        return Finding(
            span, message, help=f"its value from before this step is `{before}`", step=site.step.name
        )
    return Finding(
        span,
        f"`{name}` has no value yet: these `updates` compute it after `{own}`",
        help=f"move `{name}` above `{own}`; its value from before this step is `{before}`",
        notes=_place(site, name),
        step=site.step.name,
    )


def _place(site: Site, name: str) -> tuple[Note, ...]:
    updates = site.step.node.get("updates")
    entry = updates.entry(name) if isinstance(updates, Mapping) else None
    return (Note(f"`{name}` is computed here", entry.key.span),) if entry else ()
