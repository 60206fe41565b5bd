"""An update reads a key of the same `updates` that comes after it, or itself.

Inside one `updates` a bare name is an earlier key: values are computed from top to bottom, and all of them are
written together at the end. A later key has no value yet. What a field held before the step is `state.<field>`.

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
        message = f"`{name}` is read by the expression that computes it"
        return Finding(span, message, help=f"its value so far is `{before}`", step=site.step.name)
    return Finding(
        span,
        f"`{name}` has no value yet: in these `updates` it comes after `{own}`",
        help=f"move `{name}` above `{own}`; its value from before this step is `{before}`",
        notes=_place(site, name),
        step=site.step.name,
    )


def _place(site: Site, name: str) -> tuple[Note, ...]:
    updates = site.step.node.get("updates")
    entry = updates.entry(name) if isinstance(updates, Mapping) else None
    return (Note(f"`{name}` is computed here", entry.key.span),) if entry else ()
