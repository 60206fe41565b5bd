"""Calls across a project, and their circles."""

from __future__ import annotations

import random

from tests.support import load
from wfc.analysis.call_graph import CallGraph, CallSite
from wfc.project import Project


def project(**calls: str) -> Project:
    """Workflows by name, each with the names that it calls."""
    texts = []
    for name, called in calls.items():
        steps = [f"  - {{id: s{n}, type: call, workflow: {other}}}" for n, other in enumerate(called.split())]
        steps.append("  - {id: done, type: return}")
        texts.append("\n".join([f"name: {name}", 'version: "1.0.0"', "steps:", *steps]) + "\n")
    return load(*texts)


def calls(made: Project) -> tuple[CallGraph, dict[str, CallSite]]:
    graph = CallGraph(made)
    found = [call for file in made.files for call in graph.calls(file)]
    return graph, {f"{call.caller.name}>{call.callee.name}": call for call in found}


def test_only_the_calls_of_a_circle_are_circular() -> None:
    graph, found = calls(project(a="b", b="c d", c="a", d="e", e=""))
    assert [name for name, call in found.items() if graph.is_circular(call)] == ["a>b", "b>c", "c>a"]


def test_the_way_back_is_the_shortest() -> None:
    graph, found = calls(project(a="b", b="c a", c="a"))
    assert [call.callee.name for call in graph.way_back(found["a>b"])] == ["a"]
    assert [call.callee.name for call in graph.way_back(found["b>c"])] == ["a", "b"]


def test_a_workflow_that_calls_itself_is_a_circle_of_one() -> None:
    graph, found = calls(project(a="a"))
    assert graph.is_circular(found["a>a"])
    assert graph.way_back(found["a>a"]) == []


def test_calls_of_workflows_that_are_not_there_are_left_out() -> None:
    graph, found = calls(project(a="nowhere b", b=""))
    assert list(found) == ["a>b"]
    assert not graph.is_circular(found["a>b"])


def test_circles_agree_with_plain_reachability_on_random_projects() -> None:
    chance = random.Random(7)
    for _ in range(30):
        names = "abcdefgh"
        edges = {name: [other for other in names if chance.random() < 0.15] for name in names}
        graph, found = calls(project(**{name: " ".join(called) for name, called in edges.items()}))
        for call in found.values():
            assert graph.is_circular(call) == reaches(edges, call.callee.name, call.caller.name)


def reaches(edges: dict[str, list[str]], start: str | None, end: str | None) -> bool:
    seen, todo = {start}, [start]
    while todo:
        at = todo.pop()
        if at == end:
            return True
        fresh = [other for other in edges[str(at)] if other not in seen]
        seen.update(fresh)
        todo += fresh
    return False
