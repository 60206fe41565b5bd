"""A condition is text, which is always true.

A condition is one expression in one pair of braces. With text outside the braces, or without braces, the value is text,
and any non-empty text is true, including `false`.

Bad:

```yaml
- id: ship
  type: shell
  needs_state: [tests, lint]
  when: "{{ state.tests.exit_code == 0 }} and {{ state.lint.exit_code == 0 }}"
  command: make ship
```

Good:

```yaml
- id: ship
  type: shell
  needs_state: [tests, lint]
  when: "{{ state.tests.exit_code == 0 and state.lint.exit_code == 0 }}"
  command: make ship
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jinja2 import nodes

from wfc.analysis.types.environment import mentions
from wfc.findings import Edit, Fix
from wfc.language.values import template_of
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.flow import ConditionField, condition_fields
from wfc.rules.common.hints import builtin_names
from wfc.template import Template

_KNOWN_ROOTS = frozenset({"state", "inputs", "item", "index", "previous"})
_FIELDS = frozenset({"state", "inputs"})
_LOOSE = (nodes.And, nodes.Or, nodes.Not, nodes.CondExpr, nodes.Compare, nodes.Test)
"""Expressions that need parentheses as part of a longer expression."""


@rule("WF209", "always-true", fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    for found in condition_fields(file):
        template = found.text.template
        if not found.text.is_text or template.error is not None or template.lone:
            continue
        if not template.text.strip() or not _is_never_empty(template):
            continue
        merged = _merged(template)
        yield Finding(
            found.text.span,
            f"always true: this `{found.name}` is text, not an expression",
            help=f"write `{merged}`"
            if merged and len(merged) <= 100
            else "write one expression in one pair of braces",
            fix=_fix(found, merged) if merged else None,
            step=found.step.name,
        )


def _is_never_empty(template: Template) -> bool:
    return template.is_literal or (template.ast is not None and _writes_something(template.ast.body))


def _writes_something(body: Sequence[nodes.Node]) -> bool:
    """Whether the output is non-empty for all values."""
    for node in body:
        if isinstance(node, nodes.Output):
            if any(isinstance(part, nodes.TemplateData) and part.data.strip() for part in node.nodes):
                return True
            # A comparison renders as `True` or `False`, and neither is empty.
            if any(isinstance(part, nodes.Compare | nodes.Not | nodes.Test) for part in node.nodes):
                return True
        elif isinstance(node, nodes.If) and node.else_:
            branches = [node.body, *(branch.body for branch in node.elif_), node.else_]
            if all(_writes_something(branch) for branch in branches):
                return True
    return False


def _merged(template: Template) -> str | None:
    """The condition as one expression, if the text is clear enough."""
    if template.is_literal:
        return _sound(template.language, template.text)
    body = [node for node in template.ast.body if not _is_blank(node)] if template.ast else []
    if len(body) != 1:
        return None
    if isinstance(body[0], nodes.If):
        return _sound(template.language, _tested(template, body[0]))
    holes = body[0].nodes if isinstance(body[0], nodes.Output) else []
    language = template.language
    # `{{ a }} == {{ b }}` needs no parentheses; they are added only if the whole would parse differently.
    return _sound(language, _joined(template, holes, ()), holes) or _sound(
        language, _joined(template, holes, _LOOSE), holes
    )


def _is_blank(node: nodes.Node) -> bool:
    parts = node.nodes if isinstance(node, nodes.Output) else [node]
    return all(isinstance(part, nodes.TemplateData) and not part.data.strip() for part in parts)


def _joined(template: Template, holes: Sequence[nodes.Node], loose: tuple[type[nodes.Node], ...]) -> str:
    """The text without its braces, with parentheses where operator precedence requires them."""
    parts: list[str] = []
    for part in holes:
        if isinstance(part, nodes.TemplateData):
            parts.append(part.data)
        else:
            start, end = template.span(part)
            inner = template.text[start:end]
            parts.append(f"({inner})" if isinstance(part, loose) else inner)
    return "".join(parts)


def _tested(template: Template, node: nodes.If) -> str | None:
    """`{% if x %}true{% else %}false{% endif %}` is just x."""
    if node.elif_ or [_word(node.body), _word(node.else_)] != ["true", "false"]:
        return None
    start, end = template.span(node.test)
    return template.text[start:end]


def _word(body: Sequence[nodes.Node]) -> str:
    parts = [part for node in body if isinstance(node, nodes.Output) for part in node.nodes]
    return (
        "".join(part.data if isinstance(part, nodes.TemplateData) else "?" for part in parts).strip().lower()
    )


def _sound(language: str, inner: str | None, holes: Sequence[nodes.Node] = ()) -> str | None:
    """The text if it is one expression over known names that still contains each hole, else None."""
    if inner is None:
        return None
    text = "{{ " + " ".join(inner.split()) + " }}"
    template = template_of(text, language)
    expression = template.expression if template.error is None else None
    if expression is None or not template.reads:
        return None
    # Words of ordinary text parse as names as well, so only known names show that an expression was meant.
    if any(
        read.root not in _KNOWN_ROOTS or (read.root in _FIELDS and not read.path) for read in template.reads
    ):
        return None
    if any(use for names in builtin_names() for use in names.wrong(template)):
        return None
    # With other precedence a hole would be torn apart: the new expression must contain each as a whole.
    kept = all(isinstance(hole, nodes.TemplateData) or mentions(expression, hole) for hole in holes)
    return text if kept else None


def _fix(found: ConditionField, merged: str) -> Fix | None:
    """One quoted expression. Existing quotes are kept; otherwise double quotes are added."""
    node = found.text.node
    if node.style in ("|", ">"):
        text = node.text
        start = len(text) - len(text.lstrip())
        edit = Edit(node.at(start, len(text.rstrip())), merged)
    elif node.style == "'":
        edit = Edit(node.span, "'" + merged.replace("'", "''") + "'")
    else:
        escaped = merged.replace("\\", "\\\\").replace('"', '\\"')
        edit = Edit(node.span, f'"{escaped}"')
    return Fix("make it one expression", (edit,), safe=True)
