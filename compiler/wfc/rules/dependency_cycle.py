"""Tasks run each other recursively, or derived fields are computed from each other.

A task whose foreach runs the same task again, directly or through other tasks, would start runs endlessly. A derived
field that depends on itself has no value to begin with. The check also reports blocks that wait for each other, and
phases that require each other.

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
from wfc.language.ast import Scope
from wfc.language.derived import Derivation
from wfc.language.dialect import Language
from wfc.language.steps.protocol import Child
from wfc.language.values import state_use
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Span
from wfc_runtime.digraph import components, has_circle, shortest_way

_SHOWN = 8


@rule("WF409", "dependency-cycle")
def check(file: SourceFile) -> Iterator[Finding]:
    yield from _tasks(file)
    for scope in file.scopes:
        yield from _derived(scope)


def _circles(graph: dict[str, list[str]]) -> Iterator[list[str]]:
    """One cycle of each component that has one, from its first node in source order back to it."""
    order = {name: number for number, name in enumerate(graph)}
    for names in components(graph, graph):
        if has_circle(names, graph):
            start = min(names, key=order.__getitem__)
            inside = set(names)
            inner = {name: [other for other in graph[name] if other in inside] for name in names}
            yield shortest_way(start, start, inner)


def _way(circle: list[str]) -> str:
    shown = [*circle[: _SHOWN - 2], "...", circle[-1]] if len(circle) > _SHOWN else circle
    return " -> ".join(name if name == "..." else f"`{name}`" for name in shown)


# Derived fields.


def _derived(scope: Scope) -> Iterator[Finding]:
    known = {one.field: one for one in scope.derivations}
    graph = {name: [read for read in one.reads if read in known] for name, one in known.items()}
    for circle in _circles(graph):
        places = [_read_of(known[one], other) for one, other in pairwise(circle)]
        own = len(circle) == 2
        yield Finding(
            places[0],
            f"the derived field `{circle[0]}` is computed from itself"
            if own
            else f"derived fields are computed from each other: {_way(circle)}",
            help=f"compute {'it' if own else 'one of them'} from fields that steps write",
            notes=tuple(
                Note(f"`{one}` reads `{other}` here", place)
                for (one, other), place in list(zip(pairwise(circle), places, strict=True))[1:_SHOWN]
            ),
            step=circle[0],
        )


def _read_of(one: Derivation, name: str) -> Span:
    """The first place where a derived field reads another one."""
    found = (
        text.at(read.start, read.end)
        for text in one.texts()
        for read in state_use(text.template).fields.get(name, ())
    )
    return next(found, one.span)


# Tasks.


def _tasks(file: SourceFile) -> Iterator[Finding]:
    tasks = file.workflow.declared_tasks if file.workflow else {}
    runs: dict[str, dict[str, Child]] = {name: {} for name in tasks}
    for name, task in tasks.items():
        for step in task.walk():
            child = step.child()
            if child is not None and child.is_task and child.name and child.name.text in tasks:
                runs[name].setdefault(child.name.text, child)
    for circle in _circles({name: list(others) for name, others in runs.items()}):
        yield _finding(file.language, circle, runs)


def _finding(language: Language, circle: list[str], runs: dict[str, dict[str, Child]]) -> Finding:
    children = [runs[one][other] for one, other in pairwise(circle)]
    own = len(circle) == 2
    return Finding(
        _place(children[0]),
        f"the task `{circle[0]}` runs itself" if own else f"tasks run each other recursively: {_way(circle)}",
        help="let the steps of a task do the work, or repeat them with `while` or `goto`",
        notes=tuple(
            Note(f"{language.call(child.step)} runs `{name}` here", _place(child))
            for child, name in list(zip(children, circle[1:], strict=True))[1:_SHOWN]
        ),
        step=children[0].step.name,
    )


def _place(child: Child) -> Span:
    return child.step.value_span(child.field)
