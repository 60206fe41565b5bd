"""A phase must write files, and its agents can only read.

`Explore` and `Plan` have no tools that write, and neither has an agent whose `tools` name none of Write, Edit,
NotebookEdit and Bash. The phase would fall short in every round. The check also looks at the `outputs` of one agent.

Bad:

```yaml
phases:
  - number: 1
    agents:
      - {type: analyst, subagent_type: Explore}
    outputs: [docs/analysis.md]
```

Good:

```yaml
phases:
  - number: 1
    agents:
      - {type: analyst, subagent_type: general-purpose}
    outputs: [docs/analysis.md]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF115", "agent-cannot-write", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    """Only the front end knows phases: the core has their steps."""
    return iter(())
