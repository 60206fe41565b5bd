"""An untrusted value inside quotes of a command can close those quotes.

The shell still expands `$(...)` between double quotes, and a value that contains the quote character ends the quoting
early. `| shquote` adds its own quotes, which do not work inside others. Use it instead of quotes, never inside them.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Which words?, output_to: words}
- id: search
  type: shell
  needs_state: [words]
  command: grep --recursive -- "{{ state.words.input }}" docs
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Which words?, output_to: words}
- id: search
  type: shell
  needs_state: [words]
  command: grep --recursive -- {{ state.words.input | shquote }} docs
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Change
from wfc.findings import Fix
from wfc.language.dialect import Language
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.injection import CommandHole, command_holes

_PLACES = {
    "'": "between single quotes in a shell command",
    '"': "between double quotes in a shell command",
    "<<": "in a here-document",
    "#": "in a comment of a shell command",
}


@rule("WF502", "quoted-injection", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for hole in command_holes(file):
        # WF501 reports the values outside of quotes.
        if hole.spot.quote and not hole.spot.unsure:
            yield Finding(
                hole.span,
                f"untrusted value {_PLACES[hole.spot.quote]} (from {hole.flow.words})",
                help=_help(file.language, hole),
                flow=hole.flow.notes(),
                fix=_fix(hole),
                quotes=hole.spot.quote,
                severity=hole.severity,
                step=hole.step.name,
            )


def _help(language: Language, hole: CommandHole) -> str:
    shown = f"({hole.shown})" if hole.is_loose else hole.shown
    quoted = language.hole(shown if hole.is_quoted else hole.quoted(shown))
    match hole.spot.quote:
        case "<<":
            return f"pipe it to the command instead: `printf %s {quoted} | ...`"
        case "#":
            return "remove it: a line break in it would end the comment"
    if _is_whole_word(hole):
        return f"remove the quotes, `shquote` adds its own: `{quoted}`"
    return f"close the quotes before it, write `{quoted}`, and reopen them after it"


def _is_whole_word(hole: CommandHole) -> bool:
    """Whether it is the only text between the quotes."""
    start, end = hole.braces
    text, quote = hole.text.template.text, hole.spot.quote
    opens = text[start - 1 : start] == quote and (quote == "'" or text[start - 2 : start - 1] != "\\")
    return start > 0 and opens and text[end : end + 1] == quote


def _fix(hole: CommandHole) -> Fix | None:
    if not _is_whole_word(hole):
        return None
    start, end = hole.braces
    dashes = hole.dashes()
    # If the `--` belongs right before the value, it must come before the opening quote, which this fix removes.
    inside = bool(dashes) and dashes[0].start == start
    changes = [
        *([] if inside else dashes),
        Change(start - 1, start, "-- " if inside else ""),
        *hole.quoting(),
        Change(end, end + 1, ""),
    ]
    return hole.fix(f"let shquote quote {hole.shown}", changes)
