"""A template accesses an attribute whose name begins with an underscore.

Such names lead from a value to Python's internals: known template sandbox escapes begin with `''.__class__.__mro__`.
Templates see only plain data, so the access fails here, but it rarely is an accident. Use brackets to read a key of
your own data such as `_id`.

In JavaScript, the names that lead out of an expression are reported: `eval`, `Function`, `globalThis`, `constructor`,
`Proxy`, timers and the network, and those whose value depends on the machine, such as `Math.random` and
`toLocaleString`. The sandbox does not have them.

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
            is_script = site.text.template.language == "javascript"
            message, help_ = _of_script(found) if is_script else (_message(found), _help(found))
            yield Finding(site.text.at(found.start, found.end), message, help=help_, step=site.step.name)


_INSTEAD = {
    "Math.random": "use `uuid()` for a value that differs in each run",
    "globalThis": "use the name itself",
    "constructor": "use brackets to read a key of that name: `['constructor']`",
}


def _of_script(found: Escape) -> tuple[str, str]:
    name = found.name
    if name.startswith("toLocale"):
        help_ = "format it without a locale, for example with `toFixed` or `toISOString`"
    else:
        help_ = _INSTEAD.get(
            name, "remove it: an expression can use its own values and plain JavaScript, nothing else"
        )
    return f"`{name}` is not available in expressions: the sandbox removes it", help_


def _message(found: Escape) -> str:
    if found.name.startswith("__"):
        return f"sandbox escape attempt: `{found.name}` would access Python internals"
    return f"invalid attribute `{found.name}`: no attribute begins with an underscore"


def _help(found: Escape) -> str:
    if found.name.startswith("__"):
        return "remove it; if someone else wrote this template, find out why it is there"
    return f"use brackets to read a key of that name: `['{found.name}']`"
