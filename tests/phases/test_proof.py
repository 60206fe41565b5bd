"""Outputs and changes of a phase on a real server in a real repository, with the grants that they need."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.e2e.command import wfc
from tests.server.driver import Place

MISSION = """\
name: pages
proof: {git: strict}
phases:
  - id: write
    number: 1
    parallel: true
    agents:
      - {type: guide, subagent_type: general-purpose, scope: [docs/guide/]}
      - {type: notes, subagent_type: general-purpose, scope: [docs/notes/]}
    outputs: [docs/guide/a.md, "docs/notes/*.md"]
    checkpoint: human
"""
DONE = "STATUS: success\nSUMMARY: Written.\n"


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture
def place(tmp_path: Path, portal: BlockingPortal) -> Place:
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "pages.yaml").write_text(MISSION, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    assert wfc("compile", cwd=tmp_path).status == 0
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qmx"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return Place(tmp_path, portal)


def test_missing_files_and_changes_outside_the_scopes_make_a_phase_fall_short(place: Place) -> None:
    for folder in ("guide", "notes"):
        (place.folder / "docs" / folder).mkdir(parents=True)
    with place.server(
        "--allow-exec", "git status", "--allow-read", "docs/**", "--toolsets", "core,journal"
    ) as agent:
        run = agent.call("start_workflow", workflow="pages")["workflow_id"]
        (place.folder / "docs" / "guide" / "a.md").write_text("a", encoding="utf-8")
        (place.folder / "elsewhere.md").write_text("b", encoding="utf-8")
        for visit in ("write-guide", "write-notes"):
            agent.call("submit_result", workflow_id=run, step_id=visit, result=DONE)
        asked = agent.call("get_workflow_status", workflow_id=run)["action"]
        assert asked["step_id"] == "write-stop"
        assert "docs/notes/*.md is missing." in asked["parameters"]["message"]
        assert "elsewhere.md was changed outside of the scope." in asked["parameters"]["message"]
        assert "docs/guide/a.md" not in asked["parameters"]["message"]
        # Nobody knows who should have written the file, so both work again.
        agent.call("submit_result", workflow_id=run, step_id="write-stop", result={"selected": "again"})
        (place.folder / "docs" / "notes" / "n.md").write_text("n", encoding="utf-8")
        (place.folder / "elsewhere.md").unlink()
        for visit in ("write-guide@2", "write-notes@2"):
            agent.call("submit_result", workflow_id=run, step_id=visit, result=DONE)
        asked = agent.call("get_workflow_status", workflow_id=run)["action"]
        assert asked["step_id"] == "write-checkpoint"
        assert "Files: docs/guide/a.md, docs/notes/*.md" in asked["parameters"]["message"]
        assert "outside" not in asked["parameters"]["message"]
        # The journal has what git showed, whatever the reports say.
        found = agent.call("get_context", workflow_id=run)
        [phase] = found["phase_summary"]
        assert (phase["files_changed"], phase["proof"], "outside_scope" in phase) == (2, "server", False)
        last = {one["agent"]: one for one in found["tasks"]}
        assert (last["notes"]["files"], last["notes"]["proof"]) == (["docs/notes/n.md"], "server")
        assert last["guide"]["files"] == ["docs/guide/a.md"]


def test_changes_outside_the_scopes_are_shown_at_the_checkpoint_and_in_the_journal(place: Place) -> None:
    source = place.folder / "workflows" / "pages.yaml"
    lenient = MISSION.replace("proof: {git: strict}\n", "").replace(
        "    outputs:", "    description: Pages.\n    #"
    )
    source.write_text(lenient, encoding="utf-8")
    assert wfc("compile", cwd=place.folder).status == 0
    with place.server("--allow-exec", "git status", "--toolsets", "core,journal") as agent:
        run = agent.call("start_workflow", workflow="pages")["workflow_id"]
        (place.folder / "elsewhere.md").write_text("b", encoding="utf-8")
        for visit in ("write-guide", "write-notes"):
            agent.call("submit_result", workflow_id=run, step_id=visit, result=DONE)
        asked = agent.call("get_workflow_status", workflow_id=run)["action"]
        assert asked["step_id"] == "write-checkpoint"
        assert "elsewhere.md" in asked["parameters"]["message"]
        [phase] = agent.call("get_context", workflow_id=run)["phase_summary"]
        assert (phase["outside_scope"], phase["outside_total"]) == (["elsewhere.md"], 1)
    where = ("--state", place.state)
    said = wfc("runs", *where, "journal", run, cwd=place.folder).out
    assert "1 file changed (proved by git), 1 outside the scopes: elsewhere.md" in said
    table = wfc("runs", *where, "journal", run, "--format", "markdown", cwd=place.folder).out
    assert "1 outside the scopes: elsewhere.md |" in table


def test_an_agent_that_can_not_write_does_not_hide_changes_outside_the_scopes(place: Place) -> None:
    reader = "      - {type: Explore, scope: reads everything}\n    outputs:"
    source = place.folder / "workflows" / "pages.yaml"
    source.write_text(MISSION.replace("    outputs:", reader), encoding="utf-8")
    assert wfc("compile", cwd=place.folder).status == 0
    for name in ("docs/guide/a.md", "docs/notes/n.md"):
        (place.folder / name).parent.mkdir(parents=True)
        (place.folder / name).write_text("a", encoding="utf-8")
    with place.server("--allow-exec", "git status", "--allow-read", "docs/**") as agent:
        run = agent.call("start_workflow", workflow="pages")["workflow_id"]
        (place.folder / "elsewhere.md").write_text("b", encoding="utf-8")
        for visit in ("write-guide", "write-notes", "write-explore"):
            agent.call("submit_result", workflow_id=run, step_id=visit, result=DONE)
        asked = agent.call("get_workflow_status", workflow_id=run)["action"]
        assert asked["step_id"] == "write-stop"
        assert "elsewhere.md was changed outside of the scope." in asked["parameters"]["message"]


IN_MARKDOWN = """\
# Workflow: Handbook

```yaml
proof: {git: strict}
phases:
  - number: 1
    agents: [{type: writer, subagent_type: general-purpose, scope: [docs/]}]
    outputs: ["README.md#Install", notes.md, docs/list.md]
```
"""


def test_files_that_a_phase_promises_are_in_its_scope_with_a_section_and_in_its_folder(place: Place) -> None:
    folder = place.folder / "workflows" / "handbook"
    folder.mkdir()
    (folder / "workflow.md").write_text(IN_MARKDOWN, encoding="utf-8")
    assert wfc("compile", cwd=place.folder).status == 0
    with place.server("--allow-exec", "git status", "--allow-read", "**") as agent:
        run = agent.call("start_workflow", workflow="handbook")["workflow_id"]
        (place.folder / "README.md").write_text("# Install\n", encoding="utf-8")
        (folder / "notes.md").write_text("n", encoding="utf-8")
        # The scope has `docs/` of the project, and the file is in `docs/` of the mission.
        (folder / "docs").mkdir()
        (folder / "docs" / "list.md").write_text("l", encoding="utf-8")
        agent.call("submit_result", workflow_id=run, step_id="phase-1", result=DONE)
        ended = agent.call("get_workflow_status", workflow_id=run)
        assert ended["status"] == "completed", ended
