"""An untrusted argument of a command can begin with a dash and be read as an option.

Quoting protects a value from the shell, not from the program: `rm '-rf'` still passes an option. `--` marks the end of
the options. The check covers common tools that support `--`, at positions where an option would be accepted.

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
                f"untrusted argument of `{_tool(hole)}`: a leading `-` would be read as an option "
                f"(from {hole.flow.words})",
                help="put `--` before it to end the options",
                flow=hole.flow.notes(),
                fix=hole.fix(f"put -- before {hole.shown}", hole.dashes()),
                step=hole.step.name,
            )


def _tool(hole: CommandHole) -> str:
    words = [word for word in hole.spot.words if "=" not in word and word != "sudo"]
    return words[0].rsplit("/", 1)[-1] if words else "the command"
