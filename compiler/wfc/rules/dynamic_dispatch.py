"""The name of a tool, agent, task or workflow is computed.

A reviewer must be able to see from the file which tools and agents a workflow uses. A name computed during a run,
perhaps from an agent's reply or a prompt answer, could be any of them. wfc does not evaluate templates in names. A call
can choose among workflows: `choose` computes the name, and `among` lists the names that it may be.

Bad:

```yaml
- id: notify
  type: mcp_call
  needs_state: [channel]
  tool: "{{ state.channel.selected }}.send"
```

Good:

```yaml
- id: notify
  type: condition
  needs_state: [channel]
  if: "{{ state.channel.selected == 'slack' }}"
  then:
    - {id: notify-slack, type: mcp_call, tool: slack.send}
  else:
    - {id: notify-mail, type: mcp_call, tool: mail.send}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Scalar
from wfc_runtime.expr import is_template

_LITERAL = 3
"""The number of characters that a name must have beside its `*`."""
_NAMES = ("tool", "agent", "subagent_type", "task", "workflow")


@rule("WF506", "dynamic-dispatch")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        child, choose = step.child(), step.values.get("choose")
        if child is not None and choose is not None and not all(map(_is_narrow, child.among or ("*",))):
            yield Finding(
                choose.span,
                f"dynamic workflow name: {file.language.call(step)} may call any workflow",
                help="list the names that it may be in `among`",
                step=step.name,
            )
        for field in _NAMES:
            node = step.node.get(field) if field in step.FIELDS else None
            if isinstance(node, Scalar) and isinstance(node.value, str) and is_template(node.value):
                yield Finding(
                    node.span,
                    f"dynamic {field} name: {file.language.call(step)} computes it in a template",
                    help=f"write the {field}'s name literally; to choose one at run time, use a condition "
                    f"with one step per {field}",
                    step=step.name,
                )


def _is_narrow(name: str) -> bool:
    return len(name.replace("*", "")) >= _LITERAL or "*" not in name
