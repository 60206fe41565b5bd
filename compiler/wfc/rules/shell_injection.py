"""An untrusted value is used unquoted in a shell command.

A prompt answer, an agent's reply or command output can contain `; rm -rf ~` instead of a file name, and the shell would
execute it. `| shquote` turns any value into one word; for the items of a list, write
`| map('shquote') | join(' ')`. Run inputs cause only a warning: the caller that starts a run can
execute commands anyway, but a single space in a value still breaks the command. Numbers, booleans, choices and text
with a strict `pattern` are safe.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Which file?, output_to: answer}
- id: show
  type: shell
  needs_state: [answer]
  command: wc -l -- {{ state.answer.input }}
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Which file?, output_to: answer}
- id: show
  type: shell
  needs_state: [answer]
  command: wc -l -- {{ state.answer.input | shquote }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Fix
from wfc.language.dialect import Language
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.injection import CommandHole, command_holes


@rule("WF501", "shell-injection", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for hole in command_holes(file):
        if not hole.is_quoted and (not hole.spot.quote or hole.spot.unsure):
            yield Finding(
                hole.span,
                _message(hole),
                help=_help(file.language, hole),
                flow=hole.flow.notes(),
                fix=_fix(hole),
                quotes=None if _is_command(hole) or hole.spot.unsure else "",
                severity=hole.severity,
                step=hole.step.name,
            )


def _is_command(hole: CommandHole) -> bool:
    """Whether it is in the position of a program's name."""
    return not hole.spot.words and not hole.spot.prefix and not hole.spot.unsure


def _message(hole: CommandHole) -> str:
    if hole.text.template.lone:
        return f"untrusted value used as the whole shell command (from {hole.flow.words})"
    return f"untrusted value used unquoted in a shell command (from {hole.flow.words})"


def _help(language: Language, hole: CommandHole) -> str:
    if _is_command(hole):
        return (
            "write the command literally and use values only as arguments; to execute the value on purpose, "
            f"write `sh -c -- {language.hole(hole.quoted('...'))}`"
        )
    what = "it" if hole.list_end is None else "each item"
    return f"quote {what}: `{language.hole(hole.quoted_whole())}`"


def _fix(hole: CommandHole) -> Fix | None:
    if _is_command(hole) or hole.spot.unsure:
        return None
    return hole.fix(f"quote {hole.shown} for the shell", hole.dashes() + hole.quoting())
