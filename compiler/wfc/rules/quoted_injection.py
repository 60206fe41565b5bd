"""A value from outside stands between quotes of the command, which it can close.

Between double quotes the shell still runs `$(...)`, and a value that holds the quote itself ends it early. `| shquote`
brings its own quotes: between others they are plain characters, or undo them. Use it instead of the quotes, never
inside them.

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
    "'": "between single quotes of the command",
    '"': "between double quotes of the command",
    "<<": "in a here-document",
    "#": "in a comment of the command",
}


@rule("WF502", "quoted-injection", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for hole in command_holes(file):
        if hole.spot.quote and not hole.spot.unsure:
            yield Finding(
                hole.span,
                f"`{hole.shown}` stands {_PLACES[hole.spot.quote]}, and holds {hole.flow.words}",
                help=_help(file.language, hole),
                flow=hole.flow.notes(),
                fix=_fix(hole),
                severity=hole.severity,
                step=hole.step.name,
            )


def _help(language: Language, hole: CommandHole) -> str:
    shown = f"({hole.shown})" if hole.is_loose else hole.shown
    quoted = language.hole(shown if hole.is_quoted else f"{shown} | shquote")
    match hole.spot.quote:
        case "<<":
            return f"pipe it in instead: `printf %s {quoted} | ...`"
        case "#":
            return "a line break in it would end the comment: leave it out"
    if _is_whole_word(hole):
        return f"take the quotes away, `shquote` brings its own: `{quoted}`"
    return f"end the quotes before it and begin them anew behind it, with `{quoted}` between them"


def _is_whole_word(hole: CommandHole) -> bool:
    """Whether it is all that stands between the quotes."""
    start, end = hole.braces
    text, quote = hole.text.template.text, hole.spot.quote
    opens = text[start - 1 : start] == quote and (quote == "'" or text[start - 2 : start - 1] != "\\")
    return start > 0 and opens and text[end : end + 1] == quote


def _fix(hole: CommandHole) -> Fix | None:
    if not _is_whole_word(hole):
        return None
    start, end = hole.braces
    dashes = hole.dashes()
    inside = bool(dashes) and dashes[0].start == start
    changes = [
        *([] if inside else dashes),
        Change(start - 1, start, "-- " if inside else ""),
        *hole.quoting(),
        Change(end, end + 1, ""),
    ]
    return hole.fix(f"let shquote quote {hole.shown}", changes)
