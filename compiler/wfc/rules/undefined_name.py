"""A template uses an undefined name.

Templates can access `state` and `inputs`; the steps of a task also have `item` and `index`; inside `updates`, a bare
name refers to an earlier key. A state field is `state.total`, never just `total`. Any other name fails the step.

Bad:

```yaml
- id: report
  type: return
  needs_state: [total]
  value: "{{ total }}"
```

Good:

```yaml
- id: report
  type: return
  needs_state: [total]
  value: "{{ state.total }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Fix
from wfc.language.dialect import Language
from wfc.language.scopes import Site, template_sites
from wfc.language.steps.protocol import CHILD_IN_TURN
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import list_fields, replace_in_text
from wfc.rules.common.state import ScopeNames, names_of
from wfc.template import Read
from wfc_runtime.expr import FUNCTIONS

_OTHER_WORDS = {"null": "none", "nil": "none", "undefined": "none", "yes": "true", "no": "false"}
"""Constants of other languages, each with its name here."""


@rule("WF202", "undefined-name", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for site in template_sites(file.workflow) if file.workflow else ():
        wrong: dict[str, list[Read]] = {}
        for read in site.text.template.reads:
            if read.root not in site.names and _is_ours(site, read.root):
                wrong.setdefault(read.root, []).append(read)
        for name, reads in wrong.items():
            yield _finding(file.language, site, name, reads)


def _is_ours(site: Site, name: str) -> bool:
    """WF205 reports `item` and similar names, and WF212 later keys."""
    return name not in CHILD_IN_TURN and not site.names.comes_later(name)


def _finding(language: Language, site: Site, name: str, reads: list[Read]) -> Finding:
    span = site.text.at(reads[0].start, reads[0].start + len(name))
    instead, help_ = _instead(language, site, name, names_of(site.scope))
    places = [(read.start, read.start + len(name)) for read in reads]
    return Finding(
        span,
        f"undefined name `{name[:60]}`",
        help=help_,
        fix=_fix(site, places, name, instead) if instead else None,
        step=site.step.name,
    )


def _fix(site: Site, places: list[tuple[int, int]], name: str, instead: str) -> Fix | None:
    """Replaces the name. A state field is also added to `needs_state`, to avoid a new WF301."""
    fix = replace_in_text(site.text, places, name, instead)
    root, _, field = instead.partition(".")
    if fix is None or root != "state" or field in {word.text for word in site.step.declared}:
        return fix
    listed = list_fields(site.step, [field])
    return Fix(fix.description, (*fix.edits, *listed.edits), safe=False) if listed else None


def _instead(language: Language, site: Site, name: str, known: ScopeNames) -> tuple[str | None, str]:
    """The name that was probably meant, and the help."""
    # The hints below are about Jinja's functions and words.
    is_script = site.text.template.language == "javascript"
    if name in FUNCTIONS and not is_script:
        return f"{name}()", f"`{name}` is a function: write `{name}()`"
    if name == "loop" and not is_script:
        return None, "`loop` is defined only inside a `{% for %}`"
    if name in _OTHER_WORDS and not is_script:
        return _OTHER_WORDS[name], f"did you mean `{_OTHER_WORDS[name]}`?"
    if name in known.results and name not in known.fields:
        path = language.name_of("state", known.results[name])
        return path, f"the {language.step} `{name}` stores its result in `{path}`"
    near = known.nearest_path(name, site.names)
    if near:
        return near, f"did you mean `{near}`?"
    there = ", ".join(f"`{other}`" for other in site.names)
    return None, f"defined names are {there}; put text in quotes"
