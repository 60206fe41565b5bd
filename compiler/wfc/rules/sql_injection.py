"""An untrusted value is part of the text of an SQL statement.

A quote in the value ends the string that it was meant to be in, and the rest is executed as SQL. Write a parameter in
its place, `?` or `:name`, and give the value in `params`: the database then never reads it as SQL. Run inputs cause
only a warning, since the caller that starts a run also chooses the workflow. Numbers, booleans and choices from a fixed
list are safe, and so is text with a `pattern` that allows only letters, digits and `_`.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Whose tasks?, output_to: answer}
- id: find
  type: sql
  needs_state: [answer]
  path: tasks.db
  sql: "SELECT name FROM tasks WHERE owner = '{{ state.answer.input }}'"
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Whose tasks?, output_to: answer}
- id: find
  type: sql
  needs_state: [answer]
  path: tasks.db
  sql: SELECT name FROM tasks WHERE owner = ?
  params: ["{{ state.answer.input }}"]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.taint.analysis import taint_of
from wfc.analysis.taint.expressions import holes_in
from wfc.analysis.taint.policy import SQL
from wfc.analysis.taint.values import Level
from wfc.findings import Severity
from wfc.language.steps.sql import Sql
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF511", "sql-injection")
def check(file: SourceFile) -> Iterator[Finding]:
    texts = [
        (step, text)
        for step in file.steps
        if isinstance(step, Sql)
        for text in (step.sql, step.init_sql)
        if text is not None and text.template.ast
    ]
    # Most files have no such text, and the taint analysis is expensive.
    taint = taint_of(file, SQL) if texts else None
    for step, text in texts if taint else ():
        for hole in holes_in(taint.pieces(step, text)) if taint else ():
            if hole.flow is not None:
                yield Finding(
                    text.at(*text.template.span(hole.node)),
                    f"untrusted value in the text of an SQL statement (from {hole.flow.words})",
                    help="write `?` in its place, and give the value in `params`",
                    flow=hole.flow.notes(),
                    severity=Severity.ERROR if hole.flow.level is Level.OUTSIDE else Severity.WARNING,
                    step=step.name,
                )
