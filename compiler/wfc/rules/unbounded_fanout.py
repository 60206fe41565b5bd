"""A foreach iterates over an untrusted list of unlimited length.

Each item is a separate run, often with a sub-agent. If an agent lists five hundred topics, or a command prints five
hundred files, the foreach starts five hundred runs. With `max_items`, a longer list fails the step and the error gives
the count. To process only the first items, slice the list: `state.files[:20]`.

Bad:

```yaml
- {id: list-files, type: shell, command: git ls-files | sort, output_to: listing}
- id: check-files
  type: foreach
  needs_state: [listing]
  items: "{{ state.listing.stdout.splitlines() }}"
  task: check_file
```

Good:

```yaml
- {id: list-files, type: shell, command: git ls-files | sort, output_to: listing}
- id: check-files
  type: foreach
  needs_state: [listing]
  items: "{{ state.listing.stdout.splitlines() }}"
  max_items: 50
  task: check_file
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.taint.analysis import taint_of
from wfc.analysis.taint.values import Level
from wfc.findings import Severity
from wfc.language.steps.foreach import Foreach
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Scalar, Span


@rule("WF602", "unbounded-fanout", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    taint = taint_of(file)
    for step in file.steps if taint else ():
        if not isinstance(step, Foreach) or step.items is None or step.node.get("max_items") is not None:
            continue
        found = taint.value(step, step.items) if taint else None
        if found and found.flow and found.flow.level is Level.OUTSIDE and not found.bounded:
            yield Finding(
                _place(step.items.node),
                f"unbounded number of runs: {file.language.call(step)} iterates over an untrusted list "
                f"(from {found.flow.words})",
                help="limit the number of items, for example with `max_items: 50`",
                flow=found.flow.notes(),
                step=step.name,
            )


def _place(node: object) -> Span:
    """The span of the expression."""
    assert isinstance(node, Scalar)
    text = Text(node)
    expression = text.template.expression
    return text.at(*text.template.span(expression)) if expression is not None else node.span
