"""A template stands in the key of a mapping, where it is only text.

Values are evaluated, and keys never are: `{"{{ inputs.name }}": 1}` has one key with braces in it. To compute keys,
make the mapping with an expression.

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
    # A key of a step or block itself that is a template is no field of it: that is WF004's.
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
                        "a template in a key is only text: keys are never evaluated",
                        help="write the key out, or make the mapping with an expression, as one value",
                        step=step,
                    )
                yield from _findings(file, entry.value, shapes, owners, step)
