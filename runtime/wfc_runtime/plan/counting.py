"""Count the actions that a run asks of agents: the least, the most, and per item if the list has no known length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from wfc_runtime.digraph import components, has_circle
from wfc_runtime.machine.chart import AnyMachine, Workflow
from wfc_runtime.machine.effects import Ask, Begin, Delay
from wfc_runtime.machine.interpreter import Condition, Edge, NextItem, Node, Structure, structure_of
from wfc_runtime.machine.spawn import Spawn

# The states and edges of a machine as one graph per region: which state leads to which, and how often.

_NOT_FOLLOWED = frozenset({"retry", "fail", "cancel"})
"""A retry is counted with its step; a run that fails or is cancelled does not complete."""


@dataclass(frozen=True, eq=False)
class GraphEdge:
    """An edge between two states of one region, or between the parallel groups that contain them."""

    source: str
    target: str
    edge: Edge
    most: int | None = None
    """How often it can be taken: in the whole run or, for a loop, each time the loop starts."""
    begin: str | None = None
    """The state that starts the loop."""

    def reversed(self) -> GraphEdge:
        return GraphEdge(self.target, self.source, self.edge, self.most, self.begin)


class RegionGraph:
    """The edges of a machine, by region."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        # Edges that are counted belong to the turn of a loop, and its count is reset by the state that begins
        # it.
        self._begins = {
            effect.loop: state for state, effect in structure.steps.items() if isinstance(effect, Begin)
        }
        self._skips = set(_skips(structure))
        self._of: dict[str, list[GraphEdge]] = {}
        for _, edge in edges_of(structure):
            if edge.domain is not None:
                self._of.setdefault(edge.domain.id, []).append(self._graph_edge(edge, edge.domain))

    def within(self, region: Node) -> list[GraphEdge]:
        return self._of.get(region.id, [])

    def at_first(self, region: Node) -> list[GraphEdge]:
        """The edges that a run can take before it has come back to a state."""
        return [link for link in self.within(region) if id(link.edge) not in self._skips]

    def nodes(self, region: Node) -> list[str]:
        steps = self.structure.steps
        # A delay belongs to the retry of its step, which is counted there.
        return [node.id for node in region.children if not isinstance(steps.get(node.id), Delay)]

    def _graph_edge(self, edge: Edge, region: Node) -> GraphEdge:
        condition = counted(edge)
        return GraphEdge(
            child_in(region, edge.source).id,
            child_in(region, edge.target).id,
            edge,
            condition.most if condition else most_items(edge),
            self._begins.get(edge.source.id),
        )


def edges_of(structure: Structure) -> Iterator[tuple[str | None, Edge]]:
    """Every edge that a run can take, with its event. Edges that only a retry uses are left out."""
    for node in structure.nodes.values():
        if isinstance(structure.steps.get(node.id), Delay):
            continue
        yield from ((None, edge) for edge in node.eventless)
        for event, edges in node.on.items():
            if event not in _NOT_FOLLOWED:
                yield from ((event, edge) for edge in edges)


def _skips(structure: Structure) -> Iterator[int]:
    """The edges past an agent of a phase, by identity: the first round asks all agents."""
    phases = structure.facts.get("phases") or {}
    asked = {step for phase in phases.values() for step in phase.get("agents", ())}
    for node in structure.nodes.values() if asked else ():
        if any(edge.target.name in asked for edge in node.eventless):
            yield from (id(edge) for edge in node.eventless if edge.target.name not in asked)


def condition_of(edge: Edge) -> Condition | None:
    return next((guard for guard in edge.guards if isinstance(guard, Condition)), None)


def most_items(edge: Edge) -> int | None:
    """The maximum number of items of the loop whose turns an edge begins; None if nothing limits it."""
    return next((guard.most for guard in edge.guards if isinstance(guard, NextItem)), None)


def counted(edge: Edge) -> Condition | None:
    """The guard that limits how often an edge can be taken."""
    condition = condition_of(edge)
    return condition if condition is not None and condition.most is not None else None


def child_in(region: Node, node: Node) -> Node:
    """The child of a region that is a node, or that contains it."""
    return next(one for one in (node, *node.ancestors) if one.parent is region)


# The heaviest path through a graph with bounded cycles, without enumerating paths.

Weight = Callable[[str], float]


class Longest:
    """Finds the heaviest walks over weighted nodes. Cycles without a bound are collected in `endless`."""

    def __init__(self, weight: Weight) -> None:
        self._weight = weight
        self.endless: list[list[GraphEdge]] = []

    def ending_with(
        self, nodes: Iterable[str], links: Sequence[GraphEdge], before: Mapping[str, float]
    ) -> dict[str, float]:
        """For each reachable node, the weight of the heaviest walk that ends with it, itself included.

        `before`: the nodes where walks start, and their weight so far.
        """
        graph: dict[str, list[str]] = {}
        leaving: dict[str, list[GraphEdge]] = {}
        for link in links:
            graph.setdefault(link.source, []).append(link.target)
            leaving.setdefault(link.source, []).append(link)
        arriving = dict(before)
        found: dict[str, float] = {}
        # `components` lists a component after its successors; reversed, every predecessor has been computed.
        for members in reversed(components(nodes, graph)):
            # Nodes that no walk reaches are left out.
            entering = {node: arriving[node] for node in members if node in arriving}
            if not entering:
                continue
            if has_circle(members, graph):
                inside = set(members)
                inner = [link for node in members for link in leaving.get(node, ()) if link.target in inside]
                here = self._around(members, inner, entering)
            else:
                here = {members[0]: entering[members[0]] + self._weight(members[0])}
            found |= here
            for node, value in here.items():
                for link in leaving.get(node, ()):
                    arriving[link.target] = max(arriving.get(link.target, 0), value)
        return found

    def _around(
        self, members: Sequence[str], links: list[GraphEdge], entering: dict[str, float]
    ) -> dict[str, float]:
        inside = set(members)
        # Without its counted jumps the component has fewer cycles, so the recursion ends. A jump whose loop starts
        # inside the component is reset there, and so does not bound it.
        jumps = [link for link in links if link.most is not None and link.begin not in inside]
        rest = [link for link in links if link.most is None or link.begin in inside]
        if not jumps:
            # Nothing bounds the cycle, so its weight is either zero or infinite.
            return self._for_ever(members, links, max(entering.values()))
        sources = {link.source: 0.0 for link in jumps}
        first = self.ending_with(members, rest, entering)
        back = self.ending_with(members, [link.reversed() for link in rest], sources)
        reached = max((first[source] for source in sources if source in first), default=None)
        if reached is None:
            return first
        # Upper bound: take every jump as often as allowed, each time with the heaviest walk back to some jump.
        total = reached + sum((link.most or 0) * back.get(link.target, 0.0) for link in jumps)
        # Infinity minus infinity is not a number, so this case ends here.
        if total == inf:
            return dict.fromkeys(members, inf)
        starts: dict[str, float] = {}
        for link in jumps:
            # Only this jump's own way back is subtracted: the walk that starts at its target is counted
            # below.
            starts[link.target] = max(starts.get(link.target, 0), total - back.get(link.target, 0.0))
        last = self.ending_with(members, rest, starts)
        return {
            node: max(first.get(node, 0), last.get(node, 0))
            for node in members
            if node in first or node in last
        }

    # A cycle without actions costs nothing, however often it is taken.
    def _for_ever(self, members: Sequence[str], links: list[GraphEdge], so_far: float) -> dict[str, float]:
        if any(self._weight(node) for node in members):
            self.endless.append(links)
            so_far = inf
        return dict.fromkeys(members, so_far)


# The fewest actions with which a region can be completed or left.


class Shortest:
    """Dijkstra's shortest path through each region. All branches of a parallel step count, unless one leaves it."""

    def __init__(self, regions: RegionGraph, weight: Callable[[str], float]) -> None:
        self._regions = regions
        self._weight = weight
        self._out: dict[str, dict[str, list[tuple[str, Edge]]]] = {}
        self._before: dict[str, dict[str, float]] = {}

    def through(self, region: Node) -> float:
        """The fewest actions from the start of a region to its end."""
        # Every region has exactly one final state.
        end = next(node.id for node in region.children if node.is_final)
        return self._distances(region).get(end, inf)

    def _distances(self, region: Node) -> dict[str, float]:
        """The fewest actions before each child of a region."""
        if region.id not in self._before:
            self._before[region.id] = self._search(region, [child.id for child in region.initial])
        return self._before[region.id]

    def _search(self, region: Node, starts: list[str], goal: str | None = None) -> dict[str, float]:
        nodes = self._regions.structure.nodes
        leaving = self._leaving(region)
        found: dict[str, float] = {}
        # The order makes equal costs deterministic.
        todo = [(0.0, nodes[start].order, start) for start in starts]
        while todo and goal not in found:
            cost, _, name = heappop(todo)
            if name in found:
                continue
            found[name] = cost
            for target, edge in leaving.get(name, ()):
                onward = cost + self._leave(nodes[name], edge, counting=goal is None)
                if target not in found and onward < inf:
                    heappush(todo, (onward, nodes[target].order, target))
        return found

    def _leaving(self, region: Node) -> dict[str, list[tuple[str, Edge]]]:
        if region.id not in self._out:
            found = self._out[region.id] = {}
            for link in self._regions.at_first(region):
                found.setdefault(link.source, []).append((link.target, link.edge))
        return self._out[region.id]

    def _leave(self, node: Node, edge: Edge, counting: bool = True) -> float:
        if not node.is_parallel:
            return self._weight(node.id) + (self._used_up(node, edge) if counting else 0)
        if edge.source is node:
            # The frame's own edge is taken when all branches have ended.
            return sum(self.through(branch) for branch in node.children)
        branch = next(one for one in node.children if one in edge.source.ancestors)
        cost = self._out_of(branch, edge)
        # An agent that gets an action of this branch has also been asked for the first action of the others.
        beside = sum(self._asked_first(other) for other in node.children if other is not branch)
        # A branch that leaves without an action does so before the others have asked for anything.
        return cost + beside if cost else 0

    def _used_up(self, node: Node, edge: Edge) -> float:
        """The cost of a goto's jumps: it takes its `else` only after all of them, and each leads back to it."""
        jump = next((one for one in node.eventless if counted(one)), None)
        condition = counted(jump) if jump else None
        if jump is None or condition is None or condition.text is not True or edge in node.eventless:
            return 0
        region = node.parent
        # A jump out of the region does not lead back to the goto.
        if region is None or jump.domain is not region:
            return 0
        trip = self._search(region, [child_in(region, jump.target).id], node.id).get(node.id, inf)
        return (condition.most or 0) * trip

    def _out_of(self, region: Node, edge: Edge) -> float:
        child = next(one for one in (edge.source, *edge.source.ancestors) if one.parent is region)
        return self._distances(region).get(child.id, inf) + self._leave(child, edge)

    def _asked_first(self, region: Node) -> int:
        """1 if a branch always starts with an action, else 0."""
        steps = self._regions.structure.steps
        graph: dict[str, list[str]] = {}
        for link in self._regions.at_first(region):
            graph.setdefault(link.source, []).append(link.target)
        seen = {child.id for child in region.initial}
        todo = list(seen)
        while todo:
            name = todo.pop()
            node, effect = self._regions.structure.nodes[name], steps.get(name)
            if isinstance(effect, Ask) and effect.wait_seconds is None:
                continue
            # A wait or child comes first, so the branch need not ask anybody.
            if node.is_final or node.is_parallel or isinstance(effect, (Ask, Spawn)):
                return 0
            onward = [target for target in graph.get(name, ()) if target not in seen]
            seen.update(onward)
            todo += onward
        return 1


# Counting.

Lookup = Callable[[str], Workflow | None]
"""Finds a workflow by its name; None if it can't be called."""


@dataclass(frozen=True)
class PerItem:
    """A foreach over a list of unknown length: the actions of each item, each time the step runs."""

    step: str
    scope: str
    """The workflow or task that contains the step."""
    least: float
    most: float


@dataclass(frozen=True)
class Endless:
    """Steps that a run can repeat without a limit: as long as something fails, or for each item of a list."""

    scope: str
    steps: tuple[str, ...]
    failing: tuple[str, ...]
    """The steps whose `on_error` leads back; none for the items of a list."""


@dataclass(frozen=True)
class Count:
    least: float
    """inf: no run can complete."""
    most: float
    per_item: tuple[PerItem, ...] = ()
    endless: tuple[Endless, ...] = ()
    unknown: tuple[str, ...] = ()
    """Called workflows that could not be found, and so are not counted."""


class Counter:
    """Counts a workflow, its tasks and the workflows that it calls, each once."""

    def __init__(
        self,
        workflow: Workflow,
        lookup: Lookup,
        # Shared with the counters of called workflows, so that each is counted once.
        found: dict[str, Count] | None = None,
        weigh: Callable[[Ask | None], float] = lambda effect: 1,
    ) -> None:
        """`weigh`: what one action counts; None stands for a task that a named agent gets as one brief."""
        self._workflow = workflow
        self.weigh = weigh
        self._lookup = lookup
        self._called = found if found is not None else {}
        self._tasks: dict[str, Count] = {}

    def main(self) -> Count:
        name = self._workflow.name
        if name not in self._called:
            # The compiler refuses recursive calls; this entry only makes sure that the counting ends.
            self._called[name] = Count(0, 0, unknown=(name,))
            self._called[name] = self._count(self._workflow.machine, name)
        return self._called[name]

    def task(self, name: str) -> Count:
        if name not in self._tasks:
            # Set before it is computed, so that the counting ends for a task that starts itself.
            self._tasks[name] = Count(0, 0)
            self._tasks[name] = self._count(self._workflow.tasks[name], name)
        return self._tasks[name]

    def child(self, spawn: Spawn) -> Count:
        """The actions of one child of a foreach or a call."""
        if spawn.task is not None:
            briefed = spawn.agent is not None and spawn.agent != "@task"
            return Count(self.weigh(None), self.weigh(None)) if briefed else self.task(spawn.task)
        called = self._lookup(spawn.workflow or "")
        if called is None:
            return Count(0, 0, unknown=(spawn.workflow or "",))
        return Counter(called, self._lookup, self._called, self.weigh).main()

    def _count(self, machine: AnyMachine, scope: str) -> Count:
        return _Scope(self, machine, scope).count()


class _Scope:
    """The counting of one machine."""

    def __init__(self, counter: Counter, machine: AnyMachine, scope: str) -> None:
        self._counter = counter
        self._scope = scope
        self._regions = RegionGraph(structure_of(machine))
        self._weights: dict[str, Count] = {}
        self._longest = Longest(lambda node: self._weight(node).most)

    def count(self) -> Count:
        root = self._regions.structure.root
        least = Shortest(self._regions, lambda node: self._weight(node).least).through(root)
        most = self._most(root)
        weights = self._weights.values()
        return Count(
            least,
            max(most, least) if least < inf else most,
            tuple(dict.fromkeys(one for count in weights for one in count.per_item)),
            tuple(dict.fromkeys([*self._endless(), *(one for count in weights for one in count.endless)])),
            tuple(dict.fromkeys(name for count in weights for name in count.unknown)),
        )

    def _most(self, region: Node) -> float:
        start = {child.id: 0.0 for child in region.initial}
        found = self._longest.ending_with(self._regions.nodes(region), self._regions.within(region), start)
        return max(found.values(), default=0)

    def _weight(self, state: str) -> Count:
        if state not in self._weights:
            node = self._regions.structure.nodes[state]
            effect = self._regions.structure.steps.get(state)
            if node.is_parallel:
                found = Count(0, sum(self._most(branch) for branch in node.children))
            elif isinstance(effect, Ask) and effect.wait_seconds is None:
                one = self._counter.weigh(effect)
                found = Count(one, one * (effect.retry.max_attempts if effect.retry else 1))
            elif isinstance(effect, Spawn):
                found = self._spawned(effect, node.name)
            else:
                found = Count(0, 0)
            self._weights[state] = found
        return self._weights[state]

    def _spawned(self, spawn: Spawn, step: str) -> Count:
        child = self._counter.child(spawn)
        attempts = spawn.retry.max_attempts if spawn.retry else 1
        known = 1 if spawn.is_call else len(spawn.items) if isinstance(spawn.items, list) else None
        most = spawn.max_items if known is None else known
        per_item = child.per_item
        if most is None:
            per_item = (PerItem(step, self._scope, child.least, child.most * attempts), *per_item)
        # The first child that succeeds is enough.
        needed = 1 if known and spawn.join == "any" else known
        return Count(
            # The least is zero for an empty list, and also if no child can complete.
            needed * child.least if needed and child.least < inf else 0,
            most * child.most * attempts if most and child.most else 0,
            per_item,
            child.endless,
            child.unknown,
        )

    def _endless(self) -> list[Endless]:
        nodes = self._regions.structure.nodes
        return [
            Endless(
                self._scope,
                _names(nodes, [link.source for link in links]),
                _names(nodes, [link.edge.source.id for link in links if _is_recovery(link)]),
            )
            for links in self._longest.endless
        ]


def _is_recovery(link: GraphEdge) -> bool:
    return any(link.edge in edges for event, edges in link.edge.source.on.items() if event == "recover")


def _names(nodes: dict[str, Node], states: list[str]) -> tuple[str, ...]:
    ordered = sorted((nodes[state] for state in dict.fromkeys(states)), key=lambda node: node.order)
    return tuple(dict.fromkeys(node.name for node in ordered))
