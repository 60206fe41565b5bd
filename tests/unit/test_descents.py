"""How deep runs nest across a project."""

from __future__ import annotations

from tests.support import load
from tests.unit.test_calls import project
from wfc.analysis.call_graph import Nesting
from wfc.project import Project


def depths(made: Project) -> dict[str, int]:
    """Of every step of a workflow itself that starts runs, by the names of what starts and what is started."""
    runs = Nesting(made)
    workflows = [file.workflow for file in made.files if file.workflow]
    found = [one for workflow in workflows for one in runs.descents(workflow)]
    return {f"{one.outer}>{one.inner}": runs.depth(one) for one in found}


def test_depth_counts_the_longest_chain_and_leaves_circles_out() -> None:
    made = project(a="b c", b="c", c="d", d="", x="x a")
    assert depths(made) == {"a>b": 3, "a>c": 2, "b>c": 2, "c>d": 1, "x>a": 4}


def test_the_way_down_is_the_longest() -> None:
    made = project(a="b c", b="c", c="d", d="")
    runs = Nesting(made)
    workflow = made.named("a")[0].workflow
    assert workflow is not None
    assert [one.inner for one in runs.way_down(runs.descents(workflow)[0])] == ["b", "c", "d"]


def test_tasks_and_calls_count_alike_and_a_brief_is_the_end() -> None:
    text = """
name: w
version: "1.0.0"
steps:
  - {id: all, type: foreach, items: [1], task: outer}
  - {id: brief, type: foreach, items: [1], task: outer, agent: "@auditor"}
tasks:
  outer: {steps: [{id: go, type: call, workflow: v}]}
  inner: {steps: [{id: look, type: shell, command: ls}]}
"""
    other = """
name: v
version: "1.0.0"
steps:
  - {id: all, type: foreach, items: [1], task: inner, agent: "@task"}
tasks:
  inner: {steps: [{id: look, type: shell, command: ls}]}
"""
    made = load(text, other)
    runs = Nesting(made)
    workflow = made.named("w")[0].workflow
    assert workflow is not None
    assert [(one.child.step.name, runs.depth(one)) for one in runs.descents(workflow)] == [
        ("all", 3),
        ("brief", 1),
    ]


def test_a_long_chain_takes_no_recursion() -> None:
    made = project(**{f"w{n}": f"w{n + 1}" for n in range(1500)}, w1500="")
    assert depths(made)["w0>w1"] == 1500
