"""A step reads a state field that its `needs_state` does not list.

A step sees only the fields it declares. Reading another one fails the run at that step, so it is an error here.

Bad:

```yaml
- id: report
  type: return
  needs_state: []
  value: "{{ state.total }}"
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

from wfc.diagnostics import Edit, Fix
from wfc.rules.base import Finding, rule
from wfc.source import Scalar, Sequence, Span
from wfc.steps.base import Step
from wfc.unit import Unit


@rule("WF301", "needs-state-missing", fix="safe")
def check(unit: Unit) -> Iterator[Finding]:
    for step in unit.steps:
        declared = {word.text for word in step.declared}
        missing: dict[str, list[Span]] = {}
        for text in step.texts():
            for read in text.template.reads:
                if read.root == "state" and read.path and isinstance(read.path[0].name, str):
                    part = read.path[0]
                    if part.name not in declared:
                        missing.setdefault(str(part.name), []).append(text.at(part.start, part.end))
        for name, spans in missing.items():
            yield Finding(
                spans[0],
                f"`{step.name}` reads `state.{name}`, which its `needs_state` does not list",
                help=f"add `{name}` to `needs_state`",
                fix=_fix(step, list(missing)),
                step=step.name,
            )


def _fix(step: Step, names: list[str]) -> Fix | None:
    """One edit for all fields that a step lacks: several fixes of one list would overlap."""
    node = step.node.get("needs_state")
    listed = [word.text for word in step.declared]
    wanted = "[" + ", ".join([*listed, *names]) + "]"
    if node is None:
        anchor = step.node.entry("type")
        if anchor is None:
            return None
        edit = _insert_line(anchor.key.span, anchor.value.span, f"needs_state: {wanted}")
    elif isinstance(node, Sequence) and node.span.text.startswith("["):
        edit = Edit(node.span, wanted)
    elif isinstance(node, Sequence) and node.items and isinstance(node.items[-1], Scalar):
        edit = _append_items(node, names)
    else:
        return None
    return Fix(f"list {', '.join(names)} in needs_state", (edit,), safe=True)


def _insert_line(key: Span, value: Span, text: str) -> Edit:
    source = key.source
    if source.line(key.line)[: key.column - 1].strip(" -") or "\n" in value.text:
        return Edit(source.span(key.start, key.start), f"{text}, ")
    indent = " " * (key.column - 1)
    return Edit(source.span(value.end, value.end), f"\n{indent}{text}")


def _append_items(node: Sequence, names: list[str]) -> Edit:
    last = node.items[-1].span
    indent = last.source.line(last.line)[: last.column - 1].split("-", 1)[0]
    lines = "".join(f"\n{indent}- {name}" for name in names)
    return Edit(last.source.span(last.end, last.end), lines)
