"""A template in the key of a mapping, where it is not evaluated.

Only values are evaluated: the key of `{"{{ inputs.name }}": 1}` contains braces. To compute keys, create the mapping
with an expression.

Bad:

```yaml
- id: tell
  type: return
  value:
    "{{ inputs.name }}": done
```

Good:

```yaml
- id: tell
  type: return
  value: "{{ {inputs.name: 'done'} }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Mapping, Node, Sequence


@rule("WF013", "template-key")
def check(file: SourceFile) -> Iterator[Finding]:
    # WF004 reports a template as a key of the step or block itself, because that is not one of its fields.
    shapes = {id(shape.node) for shape in (*file.shapes, *file.core_shapes)}
    owners = {id(step.node): step.name for step in file.steps}
    if file.document.root is not None:
        yield from _findings(file, file.document.root, shapes, owners, None)


def _findings(
    file: SourceFile, node: Node, shapes: set[int], owners: dict[int, str], step: str | None
) -> Iterator[Finding]:
    match node:
        case Sequence():
            for item in node.items:
                yield from _findings(file, item, shapes, owners, step)
        case Mapping():
            step = owners.get(id(node), step)
            for entry in node.entries:
                if id(node) not in shapes and file.language.is_template(entry.key.text):
                    yield Finding(
                        entry.key.span,
                        "template in a key: keys are never evaluated",
                        help="write the key as plain text, or create the whole mapping with one expression",
                        step=step,
                    )
                yield from _findings(file, entry.value, shapes, owners, step)
