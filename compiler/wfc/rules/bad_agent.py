"""The name of an agent is invalid.

The name of a sub-agent is `@` followed by lowercase letters, digits and `-`. Omit `agent`, or write `null`, for the
main agent.

Bad:

```yaml
- id: review
  type: delegate
  agent: "@Code_Reviewer"
  instructions: "Review the change."
```

Good:

```yaml
- id: review
  type: delegate
  agent: "@code-reviewer"
  instructions: "Review the change."
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc.language.steps.base import Step
from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc_runtime.expr import is_template

_AGENT = re.compile(r"@[a-z0-9-]+")
_SEPARATORS = re.compile(r"[^a-z0-9-]+")


@rule("WF106", "bad-agent", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        agent = step.values.get("agent")
        if isinstance(agent, Word) and agent.node.value is not None and _is_wrong(agent.text):
            yield _finding(step, agent)


def _is_wrong(name: str) -> bool:
    """WF506 reports computed names."""
    return not _AGENT.fullmatch(name) and not is_template(name)


def _finding(step: Step, agent: Word) -> Finding:
    good = near_agent(agent.text)
    return Finding(
        agent.span,
        f"invalid agent name `{agent.text[:60]}`; expected `@` followed by lowercase letters, digits and `-`",
        help=f'write "{good}"' if good else "omit `agent` for the main agent",
        fix=rename(agent.node, good, f"rename it to {good}") if good else None,
        step=step.name,
    )


def near_agent(name: str) -> str | None:
    """The valid name nearest to it; None if no valid character is left."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name.strip().lstrip("@"))
    made = _SEPARATORS.sub("-", spaced.lower()).strip("-")
    return f"@{made}" if made and len(made) <= 100 else None
