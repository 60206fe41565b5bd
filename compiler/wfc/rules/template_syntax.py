"""A template has a syntax error.

Examples are an unclosed `{{`, a missing bracket and an operator without an operand. The step could never run. Templates
support expressions, filters, `if`, `for` and `set`, but not the rest of Jinja, such as `include` and `macro`.

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
    if file.lacks_extra:
        yield _missing_extra(file)
        return
    for site in template_sites(file.workflow) if file.workflow else ():
        error = site.text.template.error
        # WF507 reports names that begin with an underscore, and WF221 objects without parentheses.
        if error is not None and not any(escapes_in(site.text.template)) and not site.text.template.blocks:
            span = site.text.at(error.start, error.end)
            yield Finding(
                span,
                error.message,
                help=_help(span.text, site.text.node.text[error.start - 1 :]),
                step=site.step.name,
            )


def _missing_extra(file: SourceFile) -> Finding:
    from wfc_runtime.javascript.engine import INSTALL

    expressions = file.workflow.expressions if file.workflow else None
    return Finding(
        expressions.span if expressions else file.source.start,
        "this workflow needs JavaScript, and the packages for it are not installed",
        help=f"run `{INSTALL}`",
    )


def _help(wrong: str, text: str) -> str:
    """`text` is the template from one character before the error."""
    if wrong == "{#":
        length = _LENGTH.match(text)
        if length:
            return f"`{{#` begins a comment; for the shell, write `{{{{ '{length[0]}' }}}}`"
        return "`{#` begins a comment that ends with `#}`; for the characters themselves, write `{{ '{#' }}`"
    return "a value ends with two braces: `{{ ... }}`" if wrong == "}" else ""


_LENGTH = pattern(r"\$\{#[\w@*\[\]]+\}")
"""The length of a shell variable."""
