"""An input is declared but never read.

The caller must supply a value that has no effect. Either a template should use the input, or the declaration is a
leftover. If an agent gets a task as one brief, the brief contains all inputs, so none of them is unused.

Bad:

```yaml
inputs:
  service: {type: string, required: true}
  region: {type: string, default: eu}
steps:
  - {id: deploy, type: shell, command: "deploy {{ inputs.service | shquote }}"}
```

Good:

```yaml
inputs:
  service: {type: string, required: true}
  region: {type: string, default: eu}
steps:
  - id: deploy
    type: shell
    command: "deploy {{ inputs.service | shquote }} --region {{ inputs.region | shquote }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.caching import cached_per_file
from wfc.findings import Severity
from wfc.language.ast import Scope, Task, Workflow
from wfc.language.scopes import runners
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import Child
from wfc.project import Project, SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import remove_entries
from wfc.rules.common.state import scope_uses
from wfc.suggest import Nearest
from wfc.template import Read
from wfc.yaml import Entry, Mapping


@rule("WF309", "unused-input", Severity.WARNING, fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        scope, node = use.scope, use.scope.node.get("inputs")
        if not (use.is_clear and use.is_whole and isinstance(node, Mapping)) or _is_brief(file, scope):
            continue
        mentioned = file.parsed.mentioned if file.parsed and scope is file.workflow else frozenset[str]()
        read = _inputs_read(scope, [entry.key.text for entry in node.entries]) | use.meant | mentioned
        unread = [entry for entry in node.entries if _is_name(entry) and entry.key.text not in read]
        fixes = remove_entries(scope.node, "inputs", _removable(file, scope, unread), "input")
        for entry in unread:
            name = entry.key.text
            yield Finding(
                entry.key.span,
                f"unused input `{name}`: no template of {scope.known_as} reads it",
                help=f"use `{file.language.name_of('inputs', name)}`, or remove the declaration",
                fix=fixes.get(name),
            )


def _is_brief(file: SourceFile, scope: Scope) -> bool:
    """Whether it is a task that an agent gets as one text, with all of its inputs."""
    if not isinstance(scope, Task) or file.workflow is None:
        return False
    return any(child.is_brief for child in runners(file.workflow).get(scope.task_name, []))


def _is_name(entry: Entry) -> bool:
    """Whether a template can read it. Another rule reports invalid names."""
    return entry.key.text.isidentifier()


def _inputs_read(scope: Scope, declared: list[str]) -> set[str]:
    """The inputs that templates name, including probable typos of them."""
    meant = Nearest(declared)
    everything = set(declared)
    found: set[str] = set()
    for read in (read for step in (*scope.computed, *scope.walk()) for read in _reads(step)):
        first = read.path[0] if read.path else None
        name = first.name if first and not first.called else None
        if read.root == "item" and not isinstance(scope, Task):
            continue
        # `inputs` as a whole, or with a computed key, may read any of them.
        if read.root in ("inputs", "item") and not isinstance(name, str):
            return everything
        if read.root == "item" and len(declared) == 1:
            # The one input of a task is its item.
            return everything
        if isinstance(name, str) and read.root in ("inputs", "item", "state"):
            found.add(name)
            near = meant.to(name) if read.root == "inputs" and name not in everything else None
            found |= {near} if near else set()
        found.add(read.root)
    return found


def _reads(step: Step) -> Iterator[Read]:
    """All reads except `item` in the bindings of a foreach, which belongs to the child task."""
    child = step.child()
    trees = (child.inputs or {}).values() if child is not None and child.is_task else ()
    given = {text for tree in trees for text in tree.texts}
    for text in step.texts():
        yield from (read for read in text.template.reads if read.root != "item" or text not in given)


def _removable(file: SourceFile, scope: Scope, unread: list[Entry]) -> list[Entry]:
    """The inputs that no step passes. Others can only be removed after the steps stop passing them."""
    if isinstance(scope, Task):
        children = runners(file.workflow).get(scope.task_name, []) if file.workflow else []
        # Without `with`, the number and names of the inputs decide how an item is bound.
        if any(child.inputs is None for child in children):
            return []
        given = {name for child in children for name in child.inputs or {}}
    else:
        given = _given_by_calls(file.project).get(file.name or "", set())
    return [entry for entry in unread if entry.key.text not in given]


@cached_per_file(2)
def _given_by_calls(project: Project) -> dict[str, set[str]]:
    """The inputs that calls in the project pass, by workflow."""
    found: dict[str, set[str]] = {}
    for scope in (file.workflow for file in project.files if file.workflow):
        for child in _calls(scope):
            found.setdefault(child.name.text if child.name else "", set()).update(child.inputs or {})
    return found


def _calls(workflow: Workflow) -> Iterator[Child]:
    for scope in workflow.scopes:
        children = (step.child() for step in scope.walk())
        yield from (child for child in children if child is not None and not child.is_task)
