"""A template that can't be read.

An unclosed `{{`, a missing bracket, an operator with nothing behind it: the step could never run. Templates
have expressions, filters, `if`, `for` and `set`; the rest of Jinja, such as `include` and `macro`, is left
out.

Bad:

```yaml
- id: greet
  type: prompt
  prompt_type: info
  message: "Deploying {{ inputs.service }"
```

Good:

```yaml
- id: greet
  type: prompt
  prompt_type: info
  message: "Deploying {{ inputs.service }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.caching import pattern
from wfc.language.scopes import template_sites
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.injection import escapes_in


@rule("WF201", "template-syntax")
def check(file: SourceFile) -> Iterator[Finding]:
    for site in template_sites(file.workflow) if file.workflow else ():
        error = site.text.template.error
        # A name with an underscore is more than a slip: WF507 speaks of it.
        if error is not None and not any(escapes_in(site.text.template)):
            span = site.text.at(error.start, error.end)
            yield Finding(
                span,
                error.message,
                help=_help(span.text, site.text.node.text[error.start - 1 :]),
                step=site.step.name,
            )


def _help(wrong: str, text: str) -> str:
    """`text`: the template from one character before the mistake."""
    if wrong == "{#":
        length = _LENGTH.match(text)
        if length:
            return f"`{{#` begins a comment; for the shell, write `{{{{ '{length[0]}' }}}}`"
        return "`{#` begins a comment that ends with `#}`; for the characters themselves, write `{{ '{#' }}`"
    return "a value ends with two braces: `{{ ... }}`" if wrong == "}" else ""


_LENGTH = pattern(r"\$\{#[\w@*\[\]]+\}")
"""The length of a variable of the shell."""
