"""A suppression comment suppresses nothing.

`# wfc: ignore[WF305] reason` suppresses that finding on its line (or in a whole multi-line text), or, alone on a line,
on the next line. Remove the comment when the finding is gone, since it would suppress a later finding. An unknown code
and a comment that wfc can't parse suppress nothing.

Errors of structure and references (WF0xx, WF1xx), template syntax (WF201) and loop bounds (WF402) can't be suppressed:
such a workflow can't be compiled. In a file with structural errors, unused comments are not reported, since they may
apply to findings that can't be determined yet. The same applies to codes in `ignore` of [tool.wfc].

Bad:

```yaml
- id: ask
  type: prompt
  prompt_type: confirm
  message: Turn it on?  # wfc: ignore[WF003] words of the panel
```

Good:

```yaml
- id: ask
  type: prompt
  prompt_type: confirm
  message: Turn it on?
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Edit, Fix, Severity
from wfc.project import SourceFile
from wfc.rules import (
    field_not_allowed,
    missing_field,
    unknown_field,
    unknown_step_type,
    wrong_type,
)
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import whole_lines
from wfc.suppress import Comment, Suppression, can_be_hidden
from wfc.yaml import Span
from wfc.yaml.explain import excerpt

CODE = "WF704"
_STRUCTURE = (unknown_field, missing_field, wrong_type, unknown_step_type, field_not_allowed)


@rule(CODE, "unused-suppression", Severity.WARNING, fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    comments = file.suppressions.comments
    is_whole = bool(comments) and _is_whole(file)
    for comment in comments:
        if not comment.items:
            yield _unreadable(comment)
        # Checks may be silent because a part of the file can't be read, so its comments may still be needed.
        unused = [item for item in comment.items if _is_unused(item, file) and (is_whole or _is_firm(item))]
        fix = _removal(comment, unused) if unused else None
        for item in unused:
            yield _finding(item, fix)


def _is_whole(file: SourceFile) -> bool:
    """Whether all checks could see the whole file."""
    if file.workflow is None or file.problems:
        return False
    return not any(next(module.check.check(file), None) for module in _STRUCTURE)


def _is_unused(item: Suppression, file: SourceFile) -> bool:
    return not item.used and item.code != CODE and item.code not in file.config.ignore


def _is_firm(item: Suppression) -> bool:
    """Whether the code can't be suppressed by any comment."""
    from wfc.rules import BY_CODE

    return item.code in BY_CODE and not can_be_hidden(item.code, BY_CODE[item.code].severity)


def _unreadable(comment: Comment) -> Finding:
    return Finding(
        comment.span,
        "invalid suppression: the comment names no code",
        help="write `# wfc: ignore[WF003] reason`, with the codes of the findings to suppress",
    )


def _finding(item: Suppression, fix: Fix | None) -> Finding:
    from wfc.rules import BY_CODE

    code = excerpt(item.span.text)
    if _is_firm(item):
        message = f"invalid suppression: {item.code} prevents compilation and can't be suppressed"
        return Finding(item.span, message, help="fix the error and remove this comment", fix=fix)
    if item.code in BY_CODE:
        return Finding(
            item.span, f"unused suppression: no {item.code} on this line", help="remove it", fix=fix
        )
    named = [rule.code for rule in BY_CODE.values() if rule.name == item.code.lower()]
    help = f"the code of `{item.code.lower()}` is {named[0]}" if named else "`wfc explain` lists the checks"
    return Finding(item.span, f"unknown check `{code}`", help=help, fix=None if named else fix)


def _removal(comment: Comment, unused: list[Suppression]) -> Fix:
    """One edit for all unused codes of a comment: separate edits of one list would overlap."""
    useless = set(unused)
    kept = [item.span.text for item in comment.items if item not in useless]
    if kept and comment.codes:
        return Fix("remove unused codes", (Edit(comment.codes, ", ".join(kept)),), safe=True)
    return Fix("remove the comment", (Edit(_extent(comment.span), ""),), safe=True)


def _extent(comment: Span) -> Span:
    """The span of the comment: its whole line, or the comment and the blanks before it."""
    source = comment.source
    start = comment.start
    while start and source.text[start - 1] in " \t":
        start -= 1
    return whole_lines(comment, comment) or source.span(start, comment.end)
