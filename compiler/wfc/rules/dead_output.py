"""A step writes a state field that nothing reads.

The workflow or task returns another value, so the field has no effect: either a step should use it, or it is a
leftover. If a run ends without `return`, its state is its result and every field counts as read. The finding is a
warning if the name resembles that of a field that is read, since the value was probably meant for that field.

Bad:

```yaml
steps:
  - {id: build, type: shell, command: make, output_to: build}
  - {id: done, type: return, value: built}
```

Good:

```yaml
steps:
  - {id: build, type: shell, command: make, output_to: build}
  - {id: done, type: return, needs_state: [build], value: "{{ state.build.exit_code }}"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Fix, Severity
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.language.values import Tree
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import remove_entry, rename
from wfc.rules.common.state import ScopeUse, scope_uses
from wfc.suggest import Nearest
from wfc.yaml import Entry, Mapping, Scalar

_NO_DIGITS = str.maketrans("", "", "0123456789")


@rule("WF306", "dead-output", Severity.INFO, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        if use.is_clear and use.is_whole and not use.gives_state:
            read, unknown = Nearest((*use.reads, *use.as_a_whole)), Nearest(use.meant)
            taken = {name for step in use.scope.walk() for name in step.writes()}
            for step in use.scope.walk():
                for written in _written(use, step):
                    # An unknown name that resembles this field is probably a typo, which is reported instead.
                    if use.is_read(written.text) or step.name in use.meant or unknown.to(written.text):
                        continue
                    yield _finding(file.language, use, step, written, read, taken)


def _written(use: ScopeUse, step: Step) -> list[Scalar]:
    """The names of the fields that a step writes."""
    output, updates = step.values.get("output_to"), _updates(step)
    entries = updates.entries if updates is not None else []
    # WF307 reports the fields of `initial_state`.
    keys = [entry.key for entry in entries if entry.key.text not in use.scope.initial]
    return [output.node] if output is not None else keys


def _updates(step: Step) -> Mapping | None:
    """The mapping in which a step names several fields, each with its value."""
    bindings = step.bindings()
    node = step.node.get(bindings.field) if bindings is not None and bindings.in_order else None
    return node if isinstance(node, Mapping) else None


def _finding(
    language: Language, use: ScopeUse, step: Step, written: Scalar, read: Nearest, taken: set[str]
) -> Finding:
    name, key = written.text, "the update" if _updates(step) else "`output_to`"
    meant = _meant(step, name, read.to(name))
    advice, fix = f"use `{language.name_of('state', name)}` in a later step, or remove {key}", None
    if meant and meant in taken:
        # Another step writes that field, so renaming this one may be wrong.
        advice = f"write `{meant}` if you meant that field, which another step writes too; otherwise {advice}"
    elif meant:
        advice, fix = f"did you mean `{meant}`?", rename(written, meant, f"write {meant} instead")
    else:
        fix = _removal(use, step, name)
    return Finding(
        written.span,
        f"unused state field `{name}`: nothing reads it, and {use.scope.known_as} returns another value",
        help=advice,
        fix=fix,
        severity=Severity.WARNING if meant else None,
        step=step.name,
    )


def _meant(step: Step, name: str, near: str | None) -> str | None:
    """The field that was probably meant: not one that differs only in its digits or that the same step writes."""
    if near is None or near in step.writes() or near.translate(_NO_DIGITS) == name.translate(_NO_DIGITS):
        return None
    return near


def _removal(use: ScopeUse, step: Step, name: str) -> Fix | None:
    key = "output_to"
    mapping, entry = step.node, step.node.entry(key)
    updates = _updates(step)
    if updates is not None:
        key, mapping, entry = f"the update of {name}", updates, updates.entry(name)
    # A step that lists the field requires it to exist, so its list must be fixed first (WF302).
    if entry is None or name in use.listed or (mapping is updates and _reads_anything(entry)):
        return None
    return remove_entry(mapping, entry, f"remove {key}")


def _reads_anything(entry: Entry) -> bool:
    """Whether removing it could leave a field or an input without a reader."""
    return any(text.template.reads for text in Tree(entry.value).texts)
