"""The call graph of a project: which workflow calls which, recursive calls, and how deep runs nest.

Recursion is a strongly connected component of the graph. Depth is the longest path from a workflow down, which is
computed over the components in the order in which they are found: callees before callers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from wfc.caching import cached_per_file
from wfc.language.ast import Scope
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import Child
from wfc.project import Project, SourceFile
from wfc.struct import struct
from wfc.yaml import Span
from wfc_runtime.digraph import components


@struct(frozen=True, eq=False)
class CallSite:
    """A step that runs a workflow, and that workflow."""

    caller: SourceFile
    child: Child
    span: Span
    callee: SourceFile

    @property
    def step(self) -> Step:
        return self.child.step


class CallGraph:
    """The calls of a project's workflows, and of the workflows outside of it that they call."""

    def __init__(self, project: Project) -> None:
        self._calls: dict[SourceFile, list[CallSite]] = {}
        todo = list(project.files)
        while todo:
            file = todo.pop()
            # Files may call each other in a cycle, so each is visited once.
            if file not in self._calls:
                self._calls[file] = list(_calls_of(file, project))
                todo += [call.callee for call in self._calls[file]]
        self._circle: dict[SourceFile, int] = {}
        """The number of the strongly connected component of each workflow."""
        graph = {file: [call.callee for call in calls] for file, calls in self._calls.items()}
        for number, members in enumerate(components(graph, graph)):
            self._circle |= dict.fromkeys(members, number)

    def calls(self, file: SourceFile) -> list[CallSite]:
        return self._calls[file]

    def is_circular(self, call: CallSite) -> bool:
        """Whether the called workflow can call the caller, directly or through others."""
        return self._circle[call.caller] == self._circle[call.callee]

    def way_back(self, call: CallSite) -> list[CallSite]:
        """The shortest chain of calls from the callee of a recursive call back to its caller (breadth-first)."""
        before: dict[SourceFile, CallSite] = {}
        todo = deque([call.callee])
        while call.caller is not call.callee and call.caller not in before:
            for onward in self.calls(todo.popleft()):
                # Only calls within the same component can lead back.
                if onward.callee not in before and self.is_circular(onward):
                    before[onward.callee] = onward
                    todo.append(onward.callee)
        found: list[CallSite] = []
        at = call.caller
        while at is not call.callee:
            found.append(before[at])
            at = before[at].caller
        return found[::-1]


def _calls_of(file: SourceFile, project: Project) -> Iterator[CallSite]:
    for step in file.steps:
        child = step.child()
        if child is not None and child.name and not child.is_task:
            # Of several workflows with the same name the first is called; the clash is reported.
            for callee in project.named(child.name.text)[:1]:
                yield CallSite(file, child, child.name.span, callee)


@cached_per_file(1)
def call_graph(project: Project) -> CallGraph:
    """The call graph of a project. All of its files must have been read."""
    return CallGraph(project)


# Nesting. A step with a child starts runs inside the run that executes it.


@struct(frozen=True, eq=False)
class Descent:
    """A step that starts runs, and the scope that they execute."""

    outer: str
    """The name of the workflow or task that the step is part of."""
    child: Child
    span: Span
    inner: str
    scope: Scope

    @property
    def is_bottom(self) -> bool:
        """Whether nothing nests inside: the steps of a task that an agent gets as one brief are not executed."""
        return self.child.is_brief


class Nesting:
    """The nesting of a project's workflows and tasks. Recursive ones are left out: other checks report them."""

    def __init__(self, project: Project) -> None:
        self._descents: dict[Scope, list[Descent]] = {}
        todo = [scope for file in project.files for scope in _located(file)]
        while todo:
            name, scope, file = todo.pop()
            if scope not in self._descents:
                self._descents[scope] = [
                    found for step in scope.walk() for found in _from(step, name, file, project)
                ]
                todo += [
                    place
                    for found in self._descents[scope]
                    if not found.child.is_task
                    # A called workflow may be in a file outside the project.
                    for place in _located(project.named(found.inner)[0])
                ]
        graph = {
            scope: [one.scope for one in found if not one.is_bottom]
            for scope, found in self._descents.items()
        }
        self._depth: dict[Scope, int] = {}
        # Callees come first, so their depths are known.
        for members in components(graph, graph):
            inside = set(members)
            for scope in members:
                # Calls inside a component are recursive, and their depth is not defined.
                self._descents[scope] = [one for one in self._descents[scope] if one.scope not in inside]
            depths = [self.depth(one) for scope in members for one in self._descents[scope]]
            self._depth |= dict.fromkeys(members, max(depths, default=0))

    def descents(self, scope: Scope) -> list[Descent]:
        return self._descents[scope]

    def depth(self, descent: Descent) -> int:
        """The number of runs that are nested below the run that executes the step."""
        return 1 if descent.is_bottom else 1 + self._depth[descent.scope]

    def way_down(self, descent: Descent) -> list[Descent]:
        """The deepest chain of descents that begins with this one."""
        found = [descent]
        while self.depth(found[-1]) > 1:
            # The deepest one: the message shows one chain, and the limit is about that.
            found.append(max(self._descents[found[-1].scope], key=self.depth))
        return found


def _located(file: SourceFile) -> Iterator[tuple[str, Scope, SourceFile]]:
    """The workflow of a file and its tasks, with their names."""
    if file.workflow is not None:
        yield file.name or file.source.path, file.workflow, file
        yield from ((name, task, file) for name, task in file.workflow.declared_tasks.items())


def _from(step: Step, outer: str, file: SourceFile, project: Project) -> Iterator[Descent]:
    child = step.child()
    if child is None or child.name is None or file.workflow is None:
        return
    if child.is_task:
        scope: Scope | None = file.workflow.declared_tasks.get(child.name.text)
    else:
        # Not the project of the file: a called file that is not compiled itself has its own project.
        called = project.named(child.name.text)
        scope = called[0].workflow if called else None
    if scope is not None:
        yield Descent(outer, child, child.name.span, child.name.text, scope)


@cached_per_file(1)
def nesting_of(project: Project) -> Nesting:
    """The nesting of a project. All of its files must have been read."""
    return Nesting(project)
