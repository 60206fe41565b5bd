"""The heaviest walk through a graph whose circles are counted, without looking at one walk after the other.

Components that cannot be gone round in are passed once. In one that can, every turn takes a counted way: without
those it falls into smaller pieces. A walk in it is then a first piece that ends where a counted way begins, as
many more pieces as the counts allow, each from where such a way leads, and a last one that ends where it
likes. Taking the heaviest of each gives a bound that no walk exceeds, and that the loops people write reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from wfc_runtime.digraph import components, has_circle
from wfc_runtime.plan.ways import Way

Weight = Callable[[str], float]


class Longest:
    """Walks over nodes that weigh something. Ways that could be taken for ever are kept in `endless`."""

    def __init__(self, weight: Weight) -> None:
        self._weight = weight
        self.endless: list[list[Way]] = []

    def ending_with(
        self, nodes: Iterable[str], ways: Sequence[Way], before: Mapping[str, float]
    ) -> dict[str, float]:
        """For each node that can be come to, the most that a walk ending with it weighs, itself included.

        `before`: where walks begin, and what they weigh already.
        """
        graph: dict[str, list[str]] = {}
        leaving: dict[str, list[Way]] = {}
        for way in ways:
            graph.setdefault(way.source, []).append(way.target)
            leaving.setdefault(way.source, []).append(way)
        arriving = dict(before)
        found: dict[str, float] = {}
        for members in reversed(components(nodes, graph)):
            entering = {node: arriving[node] for node in members if node in arriving}
            if not entering:
                continue
            if has_circle(members, graph):
                inside = set(members)
                inner = [way for node in members for way in leaving.get(node, ()) if way.target in inside]
                here = self._around(members, inner, entering)
            else:
                here = {members[0]: entering[members[0]] + self._weight(members[0])}
            found |= here
            for node, value in here.items():
                for way in leaving.get(node, ()):
                    arriving[way.target] = max(arriving.get(way.target, 0), value)
        return found

    def _around(
        self, members: Sequence[str], ways: list[Way], entering: dict[str, float]
    ) -> dict[str, float]:
        inside = set(members)
        jumps = [way for way in ways if way.most is not None and way.begin not in inside]
        rest = [way for way in ways if way.most is None or way.begin in inside]
        if not jumps:
            return self._for_ever(members, ways, max(entering.values()))
        sources = {way.source: 0.0 for way in jumps}
        first = self.ending_with(members, rest, entering)
        back = self.ending_with(members, [way.reversed() for way in rest], sources)
        reached = max((first[source] for source in sources if source in first), default=None)
        if reached is None:
            return first
        total = reached + sum((way.most or 0) * back.get(way.target, 0.0) for way in jumps)
        if total == inf:
            return dict.fromkeys(members, inf)
        starts: dict[str, float] = {}
        for way in jumps:
            starts[way.target] = max(starts.get(way.target, 0), total - back.get(way.target, 0.0))
        last = self.ending_with(members, rest, starts)
        return {
            node: max(first.get(node, 0), last.get(node, 0))
            for node in members
            if node in first or node in last
        }

    def _for_ever(self, members: Sequence[str], ways: list[Way], so_far: float) -> dict[str, float]:
        if any(self._weight(node) for node in members):
            self.endless.append(ways)
            so_far = inf
        return dict.fromkeys(members, so_far)
