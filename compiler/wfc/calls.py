"""Which workflow calls which, across a project, and circles of calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from wfc.lazy import remembered_of_files
from wfc.steps.call import Call
from wfc.structs import struct
from wfc.unit import Project, Unit
from wfc.yaml import Span
from wfc_runtime.digraph import components


@struct(frozen=True, eq=False)
class CallSite:
    """One call step, and the workflow that it runs."""

    caller: Unit
    step: Call
    span: Span
    callee: Unit


class CallGraph:
    """The calls of a project's workflows, and of those that they call elsewhere."""

    def __init__(self, project: Project) -> None:
        self._calls: dict[Unit, list[CallSite]] = {}
        todo = list(project.units)
        while todo:
            unit = todo.pop()
            if unit not in self._calls:
                self._calls[unit] = list(_calls_of(unit, project))
                todo += [call.callee for call in self._calls[unit]]
        self._circle: dict[Unit, int] = {}
        """Workflows that can call each other in a circle have the same number."""
        graph = {unit: [call.callee for call in calls] for unit, calls in self._calls.items()}
        for number, members in enumerate(components(graph, graph)):
            self._circle |= dict.fromkeys(members, number)

    def calls(self, unit: Unit) -> list[CallSite]:
        return self._calls[unit]

    def is_circular(self, call: CallSite) -> bool:
        """Whether the called workflow can come to call the caller."""
        return self._circle[call.caller] == self._circle[call.callee]

    def way_back(self, call: CallSite) -> list[CallSite]:
        """The fewest calls that lead from the end of a circular call back to its beginning."""
        before: dict[Unit, CallSite] = {}
        todo = deque([call.callee])
        while call.caller is not call.callee and call.caller not in before:
            for onward in self.calls(todo.popleft()):
                if onward.callee not in before and self.is_circular(onward):
                    before[onward.callee] = onward
                    todo.append(onward.callee)
        found: list[CallSite] = []
        at = call.caller
        while at is not call.callee:
            found.append(before[at])
            at = before[at].caller
        return found[::-1]


def _calls_of(unit: Unit, project: Project) -> Iterator[CallSite]:
    for step in unit.steps:
        if isinstance(step, Call) and step.workflow:
            for callee in project.named(step.workflow.text)[:1]:
                yield CallSite(unit, step, step.workflow.span, callee)


@remembered_of_files(1)
def call_graph(project: Project) -> CallGraph:
    """The graph of a project, whose files have all been read."""
    return CallGraph(project)
