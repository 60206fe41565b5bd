"""An agent's name that no agent can have.

A sub-agent is named by `@` and lower-case letters, digits and `-`. Leave `agent` out, or write `null`, for
the main agent.

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
    """A computed name is wrong for another reason: WF506 says so."""
    return not _AGENT.fullmatch(name) and not is_template(name)


def _finding(step: Step, agent: Word) -> Finding:
    good = near_agent(agent.text)
    return Finding(
        agent.span,
        f"`{agent.text[:60]}` is not an agent's name: that is `@`, then lower-case letters, digits and `-`",
        help=f'write "{good}"' if good else "leave `agent` out for the main agent",
        fix=rename(agent.node, good, f"call it {good}") if good else None,
        step=step.name,
    )


def near_agent(name: str) -> str | None:
    """The name as it could be; None where nothing is left of it."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name.strip().lstrip("@"))
    made = _SEPARATORS.sub("-", spaced.lower()).strip("-")
    return f"@{made}" if made and len(made) <= 100 else None
