"""A step lists or reads a state field that nothing ever writes.

A field exists if `initial_state` contains it or a step of the same workflow or task writes it, with `output_to` or in
the `updates` of a set_state step. Any other name is probably a typo: reading it fails the step.

Bad:

```yaml
- {id: build, type: shell, command: make, output_to: build_output}
- id: report
  type: return
  needs_state: [build_outptu]
  value: "{{ state.build_outptu.exit_code }}"
```

Good:

```yaml
- {id: build, type: shell, command: make, output_to: build_output}
- id: report
  type: return
  needs_state: [build_output]
  value: "{{ state.build_output.exit_code }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Edit, Fix
from wfc.language.dialect import Language
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import own_list, rename, unlist
from wfc.rules.common.state import FieldRead, StepAccess, Stranger, state_access

_MOST_FIXED = 100
"""The maximum of unknown fields per step that get a fix, since computing each fix takes the whole list."""


@rule("WF303", "needs-state-unknown", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for access in state_access(file):
        for stranger in access.strangers:
            if stranger.owner is None:
                yield _finding(file.language, access, stranger)


def _finding(language: Language, access: StepAccess, stranger: Stranger) -> Finding:
    does = "lists" if stranger.listed else "reads"
    scope = access.fields.scope.known_as
    return Finding(
        stranger.span,
        f"unknown state field `{stranger.name[:60]}`: {language.call(access.step)} {does} it, "
        f"but nothing in {scope} writes it",
        help=_help(language, access, stranger),
        fix=_fix(language, access, stranger),
        step=access.step.name,
    )


def _help(language: Language, access: StepAccess, stranger: Stranger) -> str:
    if _is_input(access, stranger):
        return f"`{stranger.name}` is an input: read `{language.name_of('inputs', stranger.name)}`"
    if stranger.meant:
        return f"did you mean `{stranger.meant}`?"
    if not stranger.reads:
        return "remove it: the step does not read it"
    write = "give it a value in `initial_state`, or write it with `output_to` or a set_state step"
    return f"{access.fields.choices}; {write}" if access.fields.choices else write


def _is_input(access: StepAccess, stranger: Stranger) -> bool:
    return stranger.name in access.fields.scope.declared_inputs


def _fix(language: Language, access: StepAccess, stranger: Stranger) -> Fix | None:
    if len(access.strangers) > _MOST_FIXED:
        return None
    if _is_input(access, stranger):
        changes = [_root(read) for read in stranger.reads]
        changes += _fixed(unlist(access.step, stranger.listed)) if stranger.listed else []
        return _together(f"read {language.name_of('inputs', stranger.name)}", changes)
    near = stranger.meant
    if near is None:
        return (
            _together("remove it", _fixed(unlist(access.step, stranger.listed)))
            if not stranger.reads
            else None
        )
    listed = {word.text for word in access.step.declared}
    if stranger.listed and (near in listed or own_list(access.step) is None):
        return None
    changes = [_name(read, near) for read in stranger.reads]
    for word in stranger.listed:
        changes += _fixed(rename(word.node, near, ""))
    return _together(f"replace it with {near}", changes)


def _together(description: str, edits: list[Edit | None]) -> Fix | None:
    # Correcting only some of the places would leave the step inconsistent.
    sure = [edit for edit in edits if edit is not None]
    # Text repeated through a YAML alias is one place.
    places = {(edit.span.start, edit.span.end): edit for edit in sure}
    return Fix(description, tuple(places.values()), safe=False) if sure and len(sure) == len(edits) else None


def _fixed(fix: Fix | None) -> list[Edit | None]:
    return [*fix.edits] if fix else [None]


def _name(read: FieldRead, name: str) -> Edit | None:
    return Edit(read.span, name) if read.span.text == read.read.path[0].name else None


def _root(read: FieldRead) -> Edit | None:
    span = read.text.at(read.read.start, read.read.start + len("state"))
    return Edit(span, "inputs") if span.text == "state" else None
