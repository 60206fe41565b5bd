"""A filter, test or function does not exist.

`x | filter`, `x is test` and `function()` have separate names. Some of Jinja's filters are not supported because their
results differ between runs or because they could escape the sandbox.

Bad:

```yaml
- id: tidy
  type: set_state
  needs_state: [build]
  updates:
    summary: "{{ state.build.stdout | stip }}"
```

Good:

```yaml
- id: tidy
  type: set_state
  needs_state: [build]
  updates:
    summary: "{{ state.build.stdout | strip }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.scopes import Site, template_sites
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import replace_in_text
from wfc.rules.common.hints import BuiltinNames, builtin_names
from wfc.rules.common.injection import escapes_in
from wfc.template import Use


@rule("WF203", "unknown-filter", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    kinds = builtin_names()
    for site in template_sites(file.workflow) if file.workflow else ():
        template = site.text.template
        wrong = [(names, use) for names in kinds for use in names.wrong(template)]
        taken = {found.filter for found in escapes_in(template)} if wrong else set()
        for names, use in wrong:
            if (use.start, use.end) not in taken:
                yield _finding(site, use, names)


def _finding(site: Site, use: Use, names: BuiltinNames) -> Finding:
    instead, help_ = names.instead(use.name)
    return Finding(
        site.text.at(use.start, use.end),
        f"unknown {names.kind} `{use.name[:60]}`",
        help=help_,
        fix=replace_in_text(site.text, [(use.start, use.end)], use.name, instead) if instead else None,
        step=site.step.name,
    )
