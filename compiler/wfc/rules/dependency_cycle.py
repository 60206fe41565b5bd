"""Tasks run each other recursively.

A task whose foreach runs the same task again, directly or through other tasks, would start runs without end.

Bad:

```yaml
steps:
  - {id: all, type: foreach, items: [{files: [a.py, b.py]}], task: review_folder}
tasks:
  review_folder:
    steps:
      - {id: files, type: foreach, items: "{{ item.files }}", task: review_file}
  review_file:
    steps:
      - {id: folder, type: foreach, items: "{{ item.folders }}", task: review_folder}
```

Good:

```yaml
steps:
  - {id: all, type: foreach, items: [{files: [a.py, b.py]}], task: review_folder}
tasks:
  review_folder:
    steps:
      - {id: files, type: foreach, items: "{{ item.files }}", task: review_file}
  review_file:
    steps:
      - {id: look, type: delegate, instructions: "Review {{ item }}."}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from wfc.findings import Note
from wfc.language.dialect import Language
from wfc.language.steps.protocol import Child
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Span
from wfc_runtime.digraph import components, has_circle, shortest_way

_SHOWN = 8


@rule("WF409", "dependency-cycle")
def check(file: SourceFile) -> Iterator[Finding]:
    tasks = file.workflow.declared_tasks if file.workflow else {}
    runs: dict[str, dict[str, Child]] = {name: {} for name in tasks}
    for name, task in tasks.items():
        for step in task.walk():
            child = step.child()
            if child is not None and child.is_task and child.name and child.name.text in tasks:
                runs[name].setdefault(child.name.text, child)
    graph = {name: list(others) for name, others in runs.items()}
    order = {name: number for number, name in enumerate(tasks)}
    for names in components(tasks, graph):
        if has_circle(names, graph):
            start = min(names, key=order.__getitem__)
            inside = set(names)
            inner = {name: [other for other in graph[name] if other in inside] for name in names}
            yield _finding(file.language, shortest_way(start, start, inner), runs)


def _finding(language: Language, circle: list[str], runs: dict[str, dict[str, Child]]) -> Finding:
    children = [runs[one][other] for one, other in pairwise(circle)]
    shown = [*circle[: _SHOWN - 2], "...", circle[-1]] if len(circle) > _SHOWN else circle
    way = " -> ".join(name if name == "..." else f"`{name}`" for name in shown)
    own = len(circle) == 2
    return Finding(
        _place(children[0]),
        f"the task `{circle[0]}` runs itself" if own else f"tasks run each other recursively: {way}",
        help="let the steps of a task do the work, or repeat them with `while` or `goto`",
        notes=tuple(
            Note(f"{language.call(child.step)} runs `{name}` here", _place(child))
            for child, name in list(zip(children, circle[1:], strict=True))[1:_SHOWN]
        ),
        step=children[0].step.name,
    )


def _place(child: Child) -> Span:
    return child.step.value_span(child.field)
