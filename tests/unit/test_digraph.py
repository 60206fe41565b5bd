"""Components, circles and what can be reached."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wfc_runtime.digraph import components, has_circle, reachable, shortest_way

GRAPHS = st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=4), max_size=9)


def test_a_component_comes_after_those_it_leads_to() -> None:
    graph = {"a": ["b"], "b": ["c", "d"], "c": ["b"], "d": []}
    assert components(graph, graph) == [["d"], ["b", "c"], ["a"]]


def test_a_node_alone_has_a_circle_only_with_an_edge_to_itself() -> None:
    graph = {"a": ["a", "b"], "b": []}
    assert has_circle(["a"], graph)
    assert not has_circle(["b"], graph)


def test_a_way_is_the_shortest() -> None:
    graph = {"a": ["b", "c"], "b": ["c"], "c": ["a"], "d": ["d"]}
    assert shortest_way("a", "c", graph) == ["a", "c"]
    assert shortest_way("a", "a", graph) == ["a", "c", "a"]
    assert shortest_way("d", "d", graph) == ["d", "d"]
    assert shortest_way("a", "d", graph) == []
    assert shortest_way("e", "e", graph) == []


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    graph = {number: [number + 1] for number in range(20_000)}
    graph[20_000] = [0]
    assert [len(found) for found in components(graph, graph)] == [20_001]


@given(GRAPHS)
def test_nodes_are_in_one_component_if_they_reach_each_other(graph: dict[int, list[int]]) -> None:
    nodes = {*graph, *(target for targets in graph.values() for target in targets)}
    reach = {node: reachable([node], graph) for node in nodes}
    found = components(sorted(nodes), graph)
    assert sorted(node for part in found for node in part) == sorted(nodes)
    place = {node: number for number, part in enumerate(found) for node in part}
    for one in nodes:
        for other in nodes:
            together = other in reach[one] and one in reach[other]
            assert (place[one] == place[other]) == together
            if other in reach[one] and not together:
                assert place[other] < place[one]


@given(GRAPHS, st.integers(0, 8), st.integers(0, 8))
def test_a_way_is_made_of_edges(graph: dict[int, list[int]], start: int, goal: int) -> None:
    way = shortest_way(start, goal, graph)
    assert all(two in graph[one] for one, two in pairwise(way))
    assert bool(way) == (goal in reachable(graph.get(start, []), graph))
