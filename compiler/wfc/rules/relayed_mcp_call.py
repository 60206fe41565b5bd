"""A sub-agent's brief calls a tool of wfc that the sub-agent may not have.

Sub-agents often have no MCP tools, and an agent that is told to call one either stops or invents the result. Nothing of
it is needed: entering a phase, starting an agent and taking its report are recorded by the run itself, and decisions,
milestones and issues belong in the report. With `mcp: relay` it is an error, and with `mcp: direct`, where sub-agents
submit their own reports, there is no finding. An agent without a `prompt` has the body of its file as its brief: a call
there is reported at the agent.

Bad:

```yaml
phases:
  - number: 1
    agents:
      - type: general-purpose
        prompt: |
          Review the module.
          log_decision(task_id, "Which parser?", "the old one")
    completion: all agents success
```

Good:

```yaml
phases:
  - number: 1
    agents:
      - type: general-purpose
        prompt: |
          Review the module.
          Report which parser you chose, and why.
    completion: all agents success
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF510", "relayed-mcp-call", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    """Only the front end knows phases: the core has their steps."""
    return iter(())
