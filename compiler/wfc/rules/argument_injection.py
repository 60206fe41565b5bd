"""A value from outside can begin with a dash, and the tool would take it for an option.

Quotes keep the shell from reading a value, not the program: `rm '-rf'` has an option. `--` says that only arguments
follow. Known are the tools for which that holds and the places where it matters; others are left alone.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Which file?, output_to: answer}
- id: drop
  type: shell
  needs_state: [answer]
  command: rm {{ state.answer.input | shquote }}
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Which file?, output_to: answer}
- id: drop
  type: shell
  needs_state: [answer]
  command: rm -- {{ state.answer.input | shquote }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.injection import CommandHole, command_holes


@rule("WF503", "argument-injection", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for hole in command_holes(file):
        if hole.is_quoted and hole.needs_dashes and not hole.spot.quote:
            yield Finding(
                hole.span,
                f"`{hole.shown}` would be an option of `{_tool(hole)}` if it began with `-`, and holds "
                f"{hole.flow.words}",
                help="put `--` before it: what follows is never an option",
                flow=hole.flow.notes(),
                fix=hole.fix(f"put -- before {hole.shown}", hole.dashes()),
                step=hole.step.name,
            )


def _tool(hole: CommandHole) -> str:
    words = [word for word in hole.spot.words if "=" not in word and word != "sudo"]
    return words[0].rsplit("/", 1)[-1] if words else "the command"
