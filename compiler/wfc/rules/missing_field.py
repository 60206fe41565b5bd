"""A required field is missing.

A workflow needs `name`, `version` and at least one step in `steps`; every step needs `id` and `type`; each step type
has further required fields (`wfc explain foreach` lists them). A file that is empty, or whose top level is not a
mapping, is not a workflow. A phase needs a `number`, and one without agents a `checkpoint`. WF402 reports a loop
without `max_iterations`.

Bad:

```yaml
- id: audit
  type: foreach
  task: audit_module
```

Good:

```yaml
- id: audit
  type: foreach
  items: "{{ inputs.modules }}"
  task: audit_module
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.language.ast import Task, Workflow
from wfc.language.shape import Field, Shape
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.hints import flow, label_of
from wfc.rules.unknown_field import meant_fields
from wfc.yaml import Mapping, Node, Scalar, Sequence

_A_WORKFLOW = "a workflow is a mapping with `name`, `version` and `steps`"
_BOUND = "max_iterations"
"""A loop without it is reported by WF402, which explains more."""


@rule("WF005", "missing-field", fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    if not file.problems and not file.is_test and not isinstance(file.document.root, Mapping):
        yield _no_workflow(file, file.document.root)
    for shape in file.shapes:
        missing = [name for name in shape.REQUIRED if is_missing(shape, name)]
        # The first one stands for all of them: it is the usual one.
        if shape.ONE_OF and all(is_missing(shape, name) for name in shape.ONE_OF):
            missing.append(shape.ONE_OF[0])
        yield from (_finding(shape, name, shape.FIELDS[name]) for name in missing if name != _BOUND)


def _no_workflow(file: SourceFile, root: Node | None) -> Finding:
    match root:
        case Sequence():
            help = "put the list under `steps:`, and add `name` and `version`"
            return Finding(root.span, "the file is a list; a workflow is a mapping", help)
        case Scalar(value=str()):
            return Finding(root.span, "the file is text; a workflow is a mapping", _A_WORKFLOW)
        case Scalar() if root.text:
            return Finding(root.span, "the file contains no workflow", _A_WORKFLOW)
    what = "the file has only comments" if file.source.text.strip() else "the file is empty"
    return Finding(file.source.start, what, _A_WORKFLOW)


def is_missing(shape: Shape, name: str) -> bool:
    """Whether a field is missing, and is neither one level above nor under a key that is reported as a misspelling of
    it. An old prompt has its `prompt_type` under the key `type`, so the values that were read count too.
    """
    if name in shape.values or shape.node.entry(name) is not None or name in shape.misplaced:
        return False
    return not any(near == name for _, near in meant_fields(shape))


def _finding(shape: Shape, name: str, field: Field[Any]) -> Finding:
    likely = _likely_type(shape) if name == "type" and isinstance(shape, Step) else None
    example = f", such as `{flow(field.example)}`" if field.example is not None else ""
    doc = field.doc[:1].lower() + field.doc[1:].rstrip(".")
    return Finding(
        shape.span,
        _message(shape, name),
        help=f"add `{name}: {likely}`" if likely else f"add `{name}`: {doc}{example}",
        step=shape.name if isinstance(shape, Step) else None,
    )


def _likely_type(step: Step) -> str | None:
    """The only step type whose required fields are all present."""
    keys = {entry.key.text for entry in step.node.entries} | {"id", "type"}
    fitting = [
        name for name, kind in STEP_TYPES.items() if keys.issuperset(kind.REQUIRED) and len(kind.REQUIRED) > 2
    ]
    return fitting[0] if len(fitting) == 1 else None


def _message(shape: Shape, name: str) -> str:
    match shape:
        case Workflow():
            return f"the workflow has no `{name}`"
        case Task():
            return f"the task `{shape.task_name}` has no `{name}`"
        case Step() if shape.name:
            return f"`{shape.name}` has no `{name}`, which {label_of(shape)} needs"
    return f"{label_of(shape)} has no `{name}`"
