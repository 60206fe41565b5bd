"""The fewest actions with which a region can be gone through, or left."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.interpreter import Edge, Node
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.plan.ways import Ways, child_in, counted


class Shortest:
    """Dijkstra's way through each region; branches side by side are all gone through, unless one leaves."""

    def __init__(self, ways: Ways, weight: Callable[[str], float]) -> None:
        self._ways = ways
        self._weight = weight
        self._out: dict[str, dict[str, list[tuple[str, Edge]]]] = {}
        self._before: dict[str, dict[str, float]] = {}

    def through(self, region: Node) -> float:
        """From the beginning of a region to its end."""
        end = next(node.id for node in region.children if node.is_final)
        return self._distances(region).get(end, inf)

    def _distances(self, region: Node) -> dict[str, float]:
        """What it takes to come to each child."""
        if region.id not in self._before:
            self._before[region.id] = self._search(region, [child.id for child in region.initial])
        return self._before[region.id]

    def _search(self, region: Node, starts: list[str], goal: str | None = None) -> dict[str, float]:
        nodes = self._ways.structure.nodes
        leaving = self._leaving(region)
        found: dict[str, float] = {}
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
            for way in self._ways.within(region):
                found.setdefault(way.source, []).append((way.target, way.edge))
        return self._out[region.id]

    def _leave(self, node: Node, edge: Edge, counting: bool = True) -> float:
        if not node.is_parallel:
            return self._weight(node.id) + (self._used_up(node, edge) if counting else 0)
        if edge.source is node:
            return sum(self.through(branch) for branch in node.children)
        branch = next(one for one in node.children if one in edge.source.ancestors)
        cost = self._out_of(branch, edge)
        # Whoever gets an action of this branch has got the first ones of the others too.
        beside = sum(self._asked_first(other) for other in node.children if other is not branch)
        return cost + beside if cost else 0

    def _used_up(self, node: Node, edge: Edge) -> float:
        """A goto takes its `else` only after all of its jumps, each of which leads back to it somehow."""
        jump = next((one for one in node.eventless if counted(one)), None)
        condition = counted(jump) if jump else None
        if jump is None or condition is None or condition.text is not True or edge in node.eventless:
            return 0
        region = node.parent
        if region is None or jump.domain is not region:
            return 0
        trip = self._search(region, [child_in(region, jump.target).id], node.id).get(node.id, inf)
        return (condition.most or 0) * trip

    def _out_of(self, region: Node, edge: Edge) -> float:
        child = next(one for one in (edge.source, *edge.source.ancestors) if one.parent is region)
        return self._distances(region).get(child.id, inf) + self._leave(child, edge)

    def _asked_first(self, region: Node) -> int:
        """1 where a branch can't but begin with an action."""
        steps = self._ways.structure.steps
        graph: dict[str, list[str]] = {}
        for way in self._ways.within(region):
            graph.setdefault(way.source, []).append(way.target)
        seen = {child.id for child in region.initial}
        todo = list(seen)
        while todo:
            name = todo.pop()
            node, effect = self._ways.structure.nodes[name], steps.get(name)
            if isinstance(effect, Ask) and effect.wait_seconds is None:
                continue
            if node.is_final or node.is_parallel or isinstance(effect, (Ask, Spawn)):
                return 0
            onward = [target for target in graph.get(name, ()) if target not in seen]
            seen.update(onward)
            todo += onward
        return 1
