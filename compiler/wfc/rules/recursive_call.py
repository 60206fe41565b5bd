"""Workflows call each other recursively.

A run would start child runs endlessly. Only direct recursion is allowed, and only if the call has a `when` and limits
the depth with `max_depth`.

Bad:

```yaml
name: deploy
steps:
  - {id: again, type: call, workflow: deploy}
```

Good:

```yaml
name: deploy
steps:
  - {id: prepare, type: shell, command: make prepare}
  - {id: again, type: goto, target: prepare, max_iterations: 3, else: done}
  - {id: done, type: return}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.call_graph import CallGraph, CallSite, call_graph
from wfc.findings import Note
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule

_SHOWN = 8


@rule("WF108", "recursive-call")
def check(file: SourceFile) -> Iterator[Finding]:
    if not any((child := step.child()) and not child.is_task for step in file.steps):
        return
    graph = call_graph(file.project)
    for call in graph.calls(file):
        if graph.is_circular(call) and not _is_bounded(call):
            yield _circle(graph, call)


def _is_bounded(call: CallSite) -> bool:
    """Whether a direct recursion can end: the call is conditional and its depth is limited."""
    return call.caller is call.callee and call.child.max_depth > 0 and call.step.when is not None


def _circle(graph: CallGraph, call: CallSite) -> Finding:
    back = graph.way_back(call)
    names = _chain([call, *back])
    message = f"unbounded recursion: `{workflow_name(call.caller)}` calls itself" + (
        f" ({names})" if back else ""
    )
    return Finding(
        call.span,
        message,
        help="use `while` or `goto` to repeat steps; move shared steps into a workflow that calls neither"
        if back
        else "use `while` or `goto` to repeat steps",
        notes=_notes(back),
        step=call.step.name,
    )


def _chain(calls: list[CallSite]) -> str:
    names = [workflow_name(calls[0].caller), *(workflow_name(call.callee) for call in calls)]
    if len(names) > _SHOWN:
        names = [*names[: _SHOWN - 2], "...", names[-1]]
    return " -> ".join(names)


def _notes(calls: list[CallSite]) -> tuple[Note, ...]:
    return tuple(
        Note(f"`{workflow_name(call.caller)}` calls `{workflow_name(call.callee)}`", call.span)
        for call in calls[:_SHOWN]
    )


def workflow_name(file: SourceFile) -> str:
    return file.name or file.source.path
