"""A prompt in a `workflow.md` belongs to no agent.

A fence below a heading or bold line with "Agent Prompt" is the prompt of the agent that the heading names or, if it
names none, of the only agent of the phase above. In a phase with several agents, a heading without the name of one
of them does not say whose prompt it is. The same goes for a prompt above the first phase, and for one whose agent has
a `prompt` already. Such a text is not used: the agents get a brief without it.

Bad: `#### Agent Prompt` below a phase with the agents `reader` and `writer`.

Good: `#### Agent Prompt: writer`.
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule


@rule("WF121", "unassigned-prompt", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    """Only the front end knows prompts in Markdown: the core has the briefs."""
    return iter(())
