"""A key that is not a field of this mapping.

A misspelt key would be ignored silently, so it is an error. WF009 reports keys that belong to another step type.

Bad:

```yaml
- id: build
  type: shell
  comand: make
```

Good:

```yaml
- id: build
  type: shell
  command: make
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.shape import Shape
from wfc.language.steps.base import Step, UnknownStep
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc.rules.common.hints import label_of
from wfc.rules.field_not_allowed import belongs_elsewhere
from wfc.suggest import did_you_mean, nearest
from wfc.yaml import Entry
from wfc.yaml.explain import excerpt

_SAME = {
    "command": ("run", "script", "cmd", "shell", "bash", "exec"),
    "message": ("question", "text", "prompt", "title", "label"),
    "instructions": ("prompt", "instruction", "task", "message", "goal"),
    "options": ("choices",),
    "parameters": ("params", "args", "arguments", "inputs", "with"),
    "with": ("inputs", "params", "args", "arguments", "parameters"),
    "output_to": ("output", "outputs", "result", "save_to", "store", "store_as", "register"),
    "needs_state": ("needs", "reads", "requires", "state"),
    "when": ("condition", "only_if"),
    "condition": ("when", "if", "only_if"),
    "depends_on": ("needs", "requires", "after", "depends", "dependencies", "wait_for"),
    "if": ("condition", "while", "test", "expr", "when"),
    "then": ("steps", "do", "body"),
    "steps": ("do", "body", "then"),
    "duration_seconds": ("seconds", "duration", "time", "delay", "timeout"),
    "items": ("in", "over", "list", "for_each", "foreach"),
    "retry": ("retries", "max_retries", "attempts"),
    "max_attempts": ("attempts", "count", "times", "max"),
    "delay_seconds": ("delay", "interval", "wait"),
    "timeout": ("timeout_seconds", "time_limit"),
    "max_iterations": ("max", "limit", "max_loops", "times"),
    "updates": ("set", "values", "assign", "state"),
    "target": ("to", "goto", "step"),
    "workflow": ("uses", "name"),
    "initial_state": ("state", "variables", "vars"),
    "min": ("minimum",),
    "max": ("maximum",),
    "enum": ("values", "allowed", "choices", "one_of", "options"),
    "item_type": ("items", "element_type"),
    "required_keys": ("keys",),
}
"""Words of other workflow languages, with the field that has the same meaning here."""
_SUGGESTIONS = 50
"""With more unknown keys in one mapping, they are not typos, and searching for similar names would take long."""
_OTHER_NAMES = {(name, field) for field, names in _SAME.items() for name in names}


@rule("WF004", "unknown-field", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for shape in file.shapes:
        for entry, near in meant_fields(shape) if shape.unknown else ():
            # The fields of a step of unknown type are unknown, but no step type has a field `tpye`.
            if near or not isinstance(shape, UnknownStep):
                yield _finding(shape, entry, near)


def meant_fields(shape: Shape) -> Iterator[tuple[Entry, str | None]]:
    """The unknown keys of a shape, each with the field that was probably meant."""
    unknown = [entry for entry in shape.unknown if not belongs_elsewhere(shape, entry.key.text)]
    known = ("id", "type") if isinstance(shape, UnknownStep) else shape.FIELDS
    free = [name for name in known if shape.node.entry(name) is None] if unknown else []
    for number, entry in enumerate(unknown):
        key = entry.key.text
        near = _same_thing(key, free) if number < _SUGGESTIONS and not shape.inside(key) else None
        yield entry, near
        if near:
            free.remove(near)


def _same_thing(key: str, free: list[str]) -> str | None:
    """An unset field that the key probably means."""
    return next((name for name in free if (key.lower(), name) in _OTHER_NAMES), None) or nearest(key, free)


def _finding(shape: Shape, entry: Entry, near: str | None) -> Finding:
    key = entry.key.text
    place = shape.inside(key)
    other = f"put it under `{place}`" if place else did_you_mean("", shape.FIELDS)
    return Finding(
        entry.key.span,
        f"{label_of(shape)} has no field `{excerpt(key)}`",
        help=f"did you mean `{near}`?" if near else other,
        fix=rename(entry.key, near, f"rename it to {near}") if near else None,
        step=shape.name if isinstance(shape, Step) else None,
    )
