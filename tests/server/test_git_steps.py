"""Git steps through a real server: with a grant it looks itself, without one it skips them or asks the agent."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal

from tests.e2e.command import wfc
from tests.server.driver import Place

MISSION = """\
name: mission
version: "1.0.0"
steps:
  - {id: before, type: git_snapshot, otherwise: skip, output_to: before}
  - {id: write, type: delegate, instructions: Write the docs., result: report, output_to: report}
  - id: changes
    type: git_changes
    needs_state: [before]
    since: "{{ state.before }}"
    scopes: {writer: [docs/]}
    otherwise: skip
    output_to: changes
  - {id: outputs, type: check_files, paths: ["docs/*.md#Usage", docs/b.md], output_to: outputs}
  - {id: done, type: return, needs_state: [changes, outputs], value: ["{{ state.changes }}", "{{ state.outputs }}"]}
"""
ASKED = (
    MISSION.replace("otherwise: skip, ", "").replace("    otherwise: skip\n", "").replace("mission", "asked")
)
REPORT = "Here it is.\n\n  STATUS: success\n  SUMMARY: Done.\n\nagentId: 1\n"


def in_folder(tmp_path: Path, portal: BlockingPortal) -> Place:
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "mission.yaml").write_text(MISSION)
    (tmp_path / "workflows" / "asked.yaml").write_text(ASKED)
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    # The files that the driver writes.
    (tmp_path / ".gitignore").write_text("[0-9]*.*\n")
    assert wfc("compile", cwd=tmp_path).status == 0
    return Place(tmp_path, portal)


@pytest.fixture
def place(tmp_path: Path, portal: BlockingPortal) -> Place:
    place = in_folder(tmp_path, portal)
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qmx"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return place


def write(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("a")
    (folder / "elsewhere.md").write_text("b")


def test_a_server_with_the_grant_proves_what_was_changed(place: Place) -> None:
    with place.server("--allow-exec", "git status", "--allow-read", "docs/**") as agent:
        started = agent.call("start_workflow", workflow="mission")
        run = started["workflow_id"]
        # The snapshot is made before the agent begins.
        assert started["action"]["step_id"] == "write"
        write(place.folder)
        agent.call("submit_result", workflow_id=run, step_id="write", result=REPORT)
        ended = agent.call("get_workflow_status", workflow_id=run)
    changes, outputs = ended["result"]
    assert changes["changed"] == ["docs/a.md", "elsewhere.md"]
    assert (changes["outside_scope"], changes["by_agent"]) == (["elsewhere.md"], {"writer": ["docs/a.md"]})
    assert changes["proved"] is True
    assert (outputs["found"], outputs["missing"]) == (["docs/*.md"], ["docs/b.md"])


def test_a_server_without_a_grant_skips_them_and_nobody_is_asked(place: Place) -> None:
    with place.server() as agent:
        started = agent.call("start_workflow", workflow="mission")
        run = started["workflow_id"]
        assert started["action"]["step_id"] == "write"
        write(place.folder)
        asked = agent.call("submit_result", workflow_id=run, step_id="write", result=REPORT)
        assert asked["action"]["step_id"] == "outputs"
        assert "Submit the paths as found and missing" in asked["action"]["instruction"]
        told = {"found": ["docs/*.md"], "missing": ["docs/b.md"]}
        ended = agent.call("submit_result", workflow_id=run, step_id="outputs", result=told)
    changes = ended["result"][0]
    assert changes["skipped"].startswith("the server may not run `git status`")
    assert (changes["changed"], changes["proved"]) == ([], False)


def test_an_agent_that_is_asked_submits_what_two_commands_print_and_only_claims_it(place: Place) -> None:
    def printed(*command: str) -> str:
        return subprocess.run(
            ["git", *command], cwd=place.folder, capture_output=True, text=True, check=True
        ).stdout

    with place.server() as agent:
        started = agent.call("start_workflow", workflow="asked")
        run, action = started["workflow_id"], started["action"]
        assert (action["step_id"], "git rev-parse HEAD" in action["instruction"]) == ("before", True)
        status = ("status", "--porcelain", "-uall", "--no-renames")
        taken = {"head": printed("rev-parse", "HEAD"), "status": printed(*status)}
        agent.call("submit_result", workflow_id=run, step_id="before", result=taken)
        write(place.folder)
        asked = agent.call("submit_result", workflow_id=run, step_id="write", result=REPORT)
        head = taken["head"].strip()
        assert f"git diff --name-only --no-renames {head}" in asked["action"]["instruction"]
        told = {
            "diff": printed("diff", "--name-only", "--no-renames", head),
            "status": printed(*status),
            "proved": True,
        }
        agent.call("submit_result", workflow_id=run, step_id="changes", result=told)
        ended = agent.call(
            "submit_result", workflow_id=run, step_id="outputs", result={"found": [], "missing": []}
        )
    changes = ended["result"][0]
    assert (changes["outside_scope"], changes["proved"]) == (["elsewhere.md"], False)


TASK = {"name": "Write the docs", "areas": ["docs/"], "agent_name": "writer"}


def test_a_server_with_the_grant_proves_the_changes_of_a_task_of_the_journal(place: Place) -> None:
    granted = ("--toolsets", "core,journal", "--allow-exec", "git status")
    with place.server(*granted) as agent:
        run = agent.call("start_workflow", workflow="mission")["workflow_id"]
        (place.folder / "before.md").write_text("not by the task")
        started = agent.call("start_task", workflow_id=run, **TASK)
        assert started["proof"] == "server"
        write(place.folder)
        agent.kill_worker()
        # Repeated, since the reply may have been lost: the snapshot of the beginning stays.
        assert agent.call("start_task", workflow_id=run, **TASK) == started
        said = {"files_changed": ["docs/invented.md"]}
        task = {"task_id": started["task_id"], "status": "success", "metadata": said}
        done = agent.call("complete_task", **task)
        assert (done["files_changed"], done["outside_scope"]) == (
            ["docs/a.md", "elsewhere.md"],
            ["elsewhere.md"],
        )
        assert done["proof"] == "server"
        (place.folder / "later.md").write_text("after the task")
        assert agent.call("complete_task", **task) == done
        [shown] = agent.call("get_context", workflow_id=run, include=["tasks"], filter={"task": "t1"})[
            "tasks"
        ]
        assert (shown["files"], shown["outside_scope"], shown["proof"]) == (
            *(["docs/a.md", "elsewhere.md"], ["elsewhere.md"]),
            "server",
        )
        assert "before" not in shown
    # Without the grant the agent's word is all there is, and it is marked so.
    with place.server("--toolsets", "core,journal") as agent:
        other = agent.call("start_task", workflow_id=run, name="More", areas=["docs/"])
        assert other["proof"] == "agent"
        done = agent.call("complete_task", task_id=other["task_id"], status="success", metadata=said)
        assert (done["files_changed"], done["proof"]) == (["docs/invented.md"], "agent")


def test_where_no_git_is_a_task_says_so_and_the_agent_claims_its_files(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    place = in_folder(tmp_path, portal)
    with place.server("--toolsets", "core,journal", "--allow-exec", "git status") as agent:
        run = agent.call("start_workflow", workflow="mission")["workflow_id"]
        started = agent.call("start_task", workflow_id=run, **TASK)
        assert started["proof"] == "agent"
        assert "no git working tree" in started["skipped"]
        said = {"files_changed": ["docs/a.md"]}
        done = agent.call("complete_task", task_id=started["task_id"], status="success", metadata=said)
        assert (done["files_changed"], done["proof"]) == (["docs/a.md"], "agent")


def test_a_test_file_needs_no_answers_for_steps_that_may_be_skipped(place: Place) -> None:
    (place.folder / "workflows" / "mission.test.yaml").write_text(
        "tests:\n  - name: it works\n    answers: {write: success, outputs: {found: [], missing: []}}\n"
    )
    done = wfc("test", "workflows/mission.test.yaml", cwd=place.folder)
    assert done.status == 0, done.stdout
