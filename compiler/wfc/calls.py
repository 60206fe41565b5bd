"""Which workflow calls which, across a project: circles, and how deep calls nest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from wfc.source import Span
from wfc.steps.call import Call
from wfc.unit import Project, Unit


@dataclass(frozen=True, eq=False)
class CallSite:
    """One call step, and the workflow that it runs."""

    caller: Unit
    step: Call
    span: Span
    callee: Unit


class CallGraph:
    """The calls of a project's workflows, followed as far as somebody asks. Each is looked at once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._calls: dict[Unit, list[CallSite]] = {}
        self._circle: dict[Unit, int] = {}
        """Workflows that can call each other in a circle have the same number."""
        self._depth: dict[Unit, int] = {}

    def calls(self, unit: Unit) -> list[CallSite]:
        if unit not in self._calls:
            self._calls[unit] = list(self._find_calls(unit))
        return self._calls[unit]

    def _find_calls(self, unit: Unit) -> Iterator[CallSite]:
        for step in unit.steps:
            if isinstance(step, Call) and step.workflow:
                for callee in self._project.named(step.workflow.text)[:1]:
                    yield CallSite(unit, step, step.workflow.span, callee)

    def is_circular(self, call: CallSite) -> bool:
        """Whether the called workflow can come to call the caller."""
        self._follow(call.caller)
        return self._circle[call.caller] == self._circle[call.callee]

    def depth(self, call: CallSite) -> int:
        """How many calls are nested at its deepest, itself included; circles left out."""
        self._follow(call.caller)
        return 1 + self._depth[call.callee]

    def way_back(self, call: CallSite) -> list[CallSite]:
        """The fewest calls that lead from a call of a circle back to its caller."""
        before: dict[Unit, CallSite] = {}
        todo = deque([call.callee])
        while call.caller is not call.callee and call.caller not in before:
            for following in self.calls(todo.popleft()):
                fresh = following.callee not in before and following.callee is not call.callee
                if fresh and self.is_circular(following):
                    before[following.callee] = following
                    todo.append(following.callee)
        found: list[CallSite] = []
        at = call.caller
        while at is not call.callee:
            found.append(before[at])
            at = before[at].caller
        return found[::-1]

    def way_down(self, call: CallSite) -> list[CallSite]:
        """The calls, one inside the other, that make a call as deep as it is."""
        found: list[CallSite] = []
        while self._depth[call.callee]:
            onward = [inner for inner in self.calls(call.callee) if not self.is_circular(inner)]
            call = max(onward, key=self.depth)
            found.append(call)
        return found

    def _follow(self, start: Unit) -> None:
        """Tarjan's strongly connected components, without recursion: a chain may be long."""
        if start in self._circle:
            return
        order: dict[Unit, int] = {start: 0}
        low: dict[Unit, int] = {start: 0}
        open_: list[Unit] = [start]
        path = [(start, iter(self.calls(start)))]
        while path:
            unit, calls = path[-1]
            call = next(calls, None)
            if call is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[unit])
                if low[unit] == order[unit]:
                    self._close(open_, unit)
            elif call.callee not in order and call.callee not in self._circle:
                order[call.callee] = low[call.callee] = len(order)
                open_.append(call.callee)
                path.append((call.callee, iter(self.calls(call.callee))))
            elif call.callee not in self._circle:
                low[unit] = min(low[unit], order[call.callee])

    def _close(self, open_: list[Unit], first: Unit) -> None:
        members = [open_.pop()]
        while members[-1] is not first:
            members.append(open_.pop())
        number = len(self._circle)
        self._circle.update(dict.fromkeys(members, number))
        outward = [
            call for unit in members for call in self.calls(unit) if self._circle[call.callee] != number
        ]
        depth = max((1 + self._depth[call.callee] for call in outward), default=0)
        self._depth.update(dict.fromkeys(members, depth))


@lru_cache(maxsize=1)
def call_graph(project: Project) -> CallGraph:
    """The graph of a project, whose files have all been read."""
    return CallGraph(project)
