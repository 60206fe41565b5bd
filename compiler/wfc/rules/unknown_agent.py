"""An agent is not among those that the project names.

`[tool.wfc.agents]` in pyproject.toml defines `@name` for `wfc run --agent`. If it names agents, the `agent` of
every step must be one of them, or `@task`. Without such names, the check is off. A step with `subagent_type` names the
agent of the client there; its `agent` is only the role.

Bad: [tool.wfc.agents] names `plan-reviewer`.

```yaml
- {id: review, type: delegate, agent: "@plan-reviewr", instructions: Review the plan.}
```

Good:

```yaml
- {id: review, type: delegate, agent: "@plan-reviewer", instructions: Review the plan.}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc.suggest import Nearest


@rule("WF113", "unknown-agent", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    known = (file.config.agents or {}).get("roles")
    if not known:
        return
    names = Nearest(known)
    for step in file.steps:
        word = step.values.get("agent") if "subagent_type" not in step.values else None
        name = word.text.removeprefix("@") if isinstance(word, Word) and word.node.value is not None else ""
        if isinstance(word, Word) and name and name not in known and name != "task":
            near = names.to(name)
            yield Finding(
                word.span,
                f"unknown agent `{word.text[:100]}`: [tool.wfc.agents] does not define it",
                help=f"did you mean `@{near}`?" if near else f"known: {', '.join(known)}",
                fix=rename(word.node, f"@{near}", f"rename it to @{near}") if near else None,
                step=step.name,
            )
