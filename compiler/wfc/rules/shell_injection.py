"""A value from outside stands in a command without quotes.

What a person typed, an agent wrote or a command printed can hold `; rm -rf ~` as well as a file name, and the
shell would run it. `| shquote` makes one word of any value. What a run is started with is only a warning: whoever
starts it may run commands anyway, but a space in it is enough to break the command. Numbers, booleans, choices
and texts with a strict `pattern` are fine as they are.

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
                severity=hole.severity,
                step=hole.step.name,
            )


def _is_command(hole: CommandHole) -> bool:
    """Whether it stands where the name of a program does."""
    return not hole.spot.words and not hole.spot.prefix and not hole.spot.unsure


def _message(hole: CommandHole) -> str:
    if hole.text.template.lone:
        return f"the whole command is `{hole.shown}`: it is {hole.flow.words}"
    return f"`{hole.shown}` stands in the command without quotes, and holds {hole.flow.words}"


def _help(language: Language, hole: CommandHole) -> str:
    if _is_command(hole):
        return (
            "write the command itself and let values fill its arguments; where running it is what you want, "
            f"say so: `sh -c -- {language.hole('... | shquote')}`"
        )
    shown = f"({hole.shown})" if hole.is_loose else hole.shown
    return f"make one word of it, whatever is in it: `{language.hole(f'{shown} | shquote')}`"


def _fix(hole: CommandHole) -> Fix | None:
    if _is_command(hole) or hole.spot.unsure:
        return None
    return hole.fix(f"quote {hole.shown} for the shell", hole.dashes() + hole.quoting())
