"""Commands on missions: pictures with a box for each phase, conversion to steps, exploration, plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import wfc

MISSION = """\
name: tour
proof: none
budget: {usd: 5, steps: 40}
phases:
  - id: look
    number: 1
    name: Look around
    parallel: true
    agents:
      - {type: guide, subagent_type: Explore}
      - {type: painter, subagent_type: general-purpose, scope: [docs/]}
    completion: all agents success
  - id: sell
    number: 2
    requires: look
    checkpoint: human
"""
MARKDOWN = """\
# Workflow: Walk

```yaml
phase:
  id: walk
  number: 1
  agents: [{type: guide, subagent_type: Explore}]
  completion: all agents done
```
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / "workflows" / "walk").mkdir(parents=True)
    (tmp_path / "workflows" / "tour.yaml").write_text(MISSION, encoding="utf-8")
    (tmp_path / "workflows" / "walk" / "workflow.md").write_text(MARKDOWN, encoding="utf-8")
    return tmp_path


def test_a_graph_shows_phases_as_boxes_with_their_agents(project: Path) -> None:
    mermaid = wfc("graph", "tour", cwd=project).out
    box, after = mermaid.split('["1#46; Look around"]', 1)[1].split('["2#46; sell', 1)
    assert box.index("guide<br/>played by Explore") < box.index("painter<br/>played by general-purpose")
    assert "a person decides" in after
    dot = wfc("graph", "tour", "--format", "dot", cwd=project).out
    assert "Look around" in dot.split("subgraph", 1)[1]
    svg = wfc("graph", "tour", "--format", "svg", cwd=project).out
    assert all(words in svg for words in ("Look around", "guide", "painter", "sell"))
    # Steps that the author did not write are not drawn.
    assert "look-verdict" not in mermaid
    assert "guide" in wfc("graph", "walk", cwd=project).out


@pytest.mark.parametrize("name", ["tour", "walk"])
def test_a_mission_is_converted_to_steps_that_check_clean(project: Path, name: str) -> None:
    source = {"tour": "workflows/tour.yaml", "walk": "workflows/walk/workflow.md"}[name]
    steps = wfc("convert", source, "--to", "steps", cwd=project).out
    assert "type: delegate" in steps
    assert ("budget:\n  usd: 5\n  steps: 40\n" in steps) == (name == "tour")
    (project / "as-steps.yaml").write_text(
        steps.replace(f"name: {name}", "name: as-steps", 1), encoding="utf-8"
    )
    checked = wfc("check", "as-steps.yaml", cwd=project)
    assert "error" not in checked.out, checked.out


def test_a_mission_is_explored_and_planned(project: Path) -> None:
    assert wfc("compile", cwd=project).status == 0
    explored = wfc("explore", "tour", cwd=project)
    assert explored.status == 0, explored.out
    assert "tour: no problem" in explored.out
    plan = json.loads(wfc("plan", "tour", "--json", cwd=project).out)
    assert {"@guide", "@painter"}.isdisjoint(plan.get("missing", {}).get("agents", ()))
    assert wfc("diff", "workflows/tour.yaml", "workflows/tour.yaml", cwd=project).out == "no difference\n"


@pytest.mark.parametrize("parallel", ["true", "false"])
def test_the_least_actions_of_a_phase_include_each_of_its_agents(project: Path, parallel: str) -> None:
    agents = "\n".join(f"      - {{type: a{n}, subagent_type: Explore}}" for n in range(4))
    text = (
        f"name: crowd\nproof: none\nphases:\n  - id: look\n    number: 1\n    parallel: {parallel}\n    agents:\n"
        f"{agents}\n    completion: all agents success\n    retry: 2\n"
    )
    (project / "workflows" / "crowd.yaml").write_text(text, encoding="utf-8")
    actions = json.loads(wfc("plan", "crowd", "--json", cwd=project).out)["actions"]
    # Four agents in one round; the most has further rounds, in which fewer may be asked.
    assert actions["least"] == 4
    assert actions["most"] > 4
    # The phase with two agents, and the gate.
    assert json.loads(wfc("plan", "tour", "--json", cwd=project).out)["actions"]["least"] == 3


def test_agents_that_are_always_asked_together_have_no_guards(project: Path) -> None:
    text = (
        "name: once\nproof: none\nphases:\n  - id: look\n    number: 1\n    on_error: continue\n    agents:\n"
        "      - {type: a, subagent_type: Explore}\n      - {type: b, subagent_type: Plan}\n"
        "    completion: any agent success\n"
    )
    path = project / "workflows" / "once.yaml"
    path.write_text(text, encoding="utf-8")
    assert "-asked" not in wfc("convert", "workflows/once.yaml", "--to", "steps", cwd=project).out
    assert wfc("compile", cwd=project).status == 0
    assert "not reached" not in wfc("explore", "once", cwd=project).out
    path.write_text(text + "    retry: 1\n", encoding="utf-8")
    assert "look-a-asked" in wfc("convert", "workflows/once.yaml", "--to", "steps", cwd=project).out
