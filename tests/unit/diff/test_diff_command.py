"""`wfc diff`: files, revisions of git and the work tree; text, markdown and JSON; exit codes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from wfc.cli.main import cli
from wfc_runtime.service.sqlite import SqliteService

ONE = """\
name: one
version: "1.0.0"
steps:
  - {id: build, type: shell, command: make}
  - id: ask
    type: prompt
    prompt_type: confirm
    message: |
      Ship it?
      Really?
"""


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["diff", *arguments], standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.return_value, done.stdout


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("--format", "json", *arguments)[1])
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WFC_STATE", raising=False)
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    write("one", ONE)
    git("init", "-q")
    commit("first")
    return tmp_path


def write(name: str, text: str) -> None:
    path = Path("workflows", f"{name}.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def git(*arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


def commit(message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


def test_a_revision_is_compared_with_the_work_tree(project: Path) -> None:
    assert run("HEAD") == (0, "no difference\n")
    write("one", ONE.replace("command: make", "command: make -j"))
    status, out = run("HEAD")
    assert status == 0
    assert out == (
        "one  workflows/one.yaml\n  ~ step build\n      command: make -> make -j\nsafe for runs in progress\n"
    )


def test_two_revisions_are_compared_and_paths_narrow_it_down(project: Path) -> None:
    write("one", ONE.replace("id: build", "id: compile"))
    write("two", ONE.replace("name: one", "name: two"))
    commit("second")
    write("one", "broken: [")
    found = as_json("HEAD~1", "HEAD")
    assert json.loads(run("--json", "HEAD~1", "HEAD")[1]) == found
    assert [(one["workflow"], one["status"]) for one in found["workflows"]] == [
        ("one", "changed"),
        ("two", "added"),
    ]
    assert [
        one["workflow"] for one in as_json("HEAD~1", "HEAD", "--", "workflows/two.yaml")["workflows"]
    ] == ["two"]
    assert as_json("HEAD~1", "HEAD", "workflows")["safe"] is False


def test_a_file_of_a_revision_is_compared_with_a_file(project: Path) -> None:
    Path("new.yaml").write_text(ONE.replace("Really?", "Truly?"), encoding="utf-8")
    status, out = run("HEAD:workflows/one.yaml", "new.yaml")
    assert status == 0
    assert "      message:\n         Ship it?\n        -Really?\n        +Truly?\n" in out


def test_what_is_not_safe_exits_with_1_and_names_the_runs_that_it_would_hit(project: Path) -> None:
    from wfc.cli.compile import command as compile_command

    CliRunner().invoke(compile_command, [], standalone_mode=False, catch_exceptions=False)
    service = SqliteService.open(project / ".wfc" / "state.db", project / "generated")
    started = service.start("one", {})["workflow_id"]
    service.close()
    write("one", ONE.replace("  - {id: build, type: shell, command: make}\n", ""))
    status, out = run("HEAD")
    assert status == 1
    assert "not safe for runs in progress\n" in out
    assert f"build is gone: a run that waits there can't be moved (now: run {started})\n" in out


def test_any_difference_exits_with_1_where_that_is_asked_for(project: Path) -> None:
    assert run("HEAD", "--exit-code")[0] == 0
    write("one", ONE.replace("command: make", "command: make -j"))
    assert run("HEAD", "--exit-code")[0] == 1


def test_a_file_that_was_moved_is_still_the_same_workflow(project: Path) -> None:
    Path("workflows/one.yaml").rename("workflows/uno.yaml")
    assert as_json("HEAD")["workflows"] == []
    write("uno", ONE.replace('"1.0.0"', '"1.0.1"'))
    [found] = as_json("HEAD")["workflows"]
    assert (found["old"], found["new"]) == ("workflows/one.yaml", "workflows/uno.yaml")


def test_a_workflow_that_went_is_not_safe_and_one_that_came_is(project: Path) -> None:
    Path("workflows/one.yaml").unlink()
    write("two", ONE.replace("name: one", "name: two"))
    found = as_json("HEAD", "workflows/one.yaml", "workflows")["workflows"]
    assert [(one["workflow"], one["status"], one["safe"]) for one in found] == [
        ("one", "removed", False),
        ("two", "added", True),
    ]


def test_a_new_version_with_errors_is_told_as_such(project: Path) -> None:
    write("one", ONE.replace("type: shell", "type: shel"))
    status, out = run("HEAD")
    assert status == 1
    assert "the new version has 1 error; see `wfc check workflows/one.yaml`\n" in out


MISSION = """\
# Workflow: Tour

```yaml
phase:
  id: look
  number: 1
  agents: [{type: guide}]
  completion: every room is described
```
"""


def test_agents_and_definitions_of_each_version_count(project: Path) -> None:
    mission, agents = Path(".claude", "workflows", "tour"), Path(".claude", "agents")
    for folder in (mission, agents):
        folder.mkdir(parents=True)
    (mission / "workflow.md").write_text(MISSION, encoding="utf-8")
    (mission / "definition.md").write_text("# Objective\n\nSee the house.\n", encoding="utf-8")
    agent = agents / "guide.md"
    agent.write_text("---\nname: guide\n---\nShow the rooms.\n", encoding="utf-8")
    commit("a mission")
    assert run("HEAD") == (0, "no difference\n")
    assert as_json("HEAD~1")["workflows"][0]["status"] == "added"
    agent.write_text("---\nname: guide\n---\nShow the cellar.\n", encoding="utf-8")
    [found] = as_json("HEAD")["workflows"]
    assert (found["workflow"], found["status"]) == ("tour", "changed")
    assert "Show the cellar." in run("HEAD")[1]
    commit("another brief")
    (mission / "definition.md").write_text("# Objective\n\nSee the garden.\n", encoding="utf-8")
    said = run("HEAD")[1]
    assert "See the garden." in said
    assert "cellar" not in said
    assert "Show the rooms." in run("HEAD~1", "HEAD")[1]
    place = f"{mission.as_posix()}/workflow.md"
    assert "See the house." in run(f"HEAD:{place}", place)[1]
    # An agent that only the old version has is none of the new one.
    git("checkout", "-q", ".")
    agent.unlink()
    [found] = as_json("HEAD")["workflows"]
    assert found["errors"] == 1


def test_markdown_folds_the_details_away_and_survives_backticks(project: Path) -> None:
    write("one", ONE.replace("command: make", 'command: "make `x`"').replace("id: ask", "id: ask_now"))
    status, out = run("HEAD", "--format", "markdown")
    assert status == 1
    assert "### `one`\n" in out
    assert ":warning: **Not safe for runs in progress.**\n\n- ask was renamed to ask\\_now" in out
    assert "<details><summary>What changed</summary>\n" in out
    assert "  - command: `make` → `` make `x` ``\n" in out
    assert out.count("<details>") == out.count("</details>") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "`nothing` is neither a file nor a git revision"),
        (["workflows/one.yaml"], "`workflows/one.yaml` is one file; name another, or a revision first"),
        (["workflows/one.yaml", "nope.yaml"], "there is no file `nope.yaml` to compare"),
        (["HEAD:nope.yaml", "workflows/one.yaml"], "`HEAD` has no file `nope.yaml`"),
        (["HEAD", "nope"], "no workflow in either version is at `nope`"),
        (
            ["HEAD", "HEAD", "--", "workflows", "--format", "json"],
            "no workflow in either version is at `--format`",
        ),
        (["HEAD", "HEAD", "nope"], "no workflow in either version is at `nope`"),
        (["-h^", "x"], "No such option"),
    ],
)
def test_wrong_words_are_answered_with_what_is_wrong(
    project: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(click.UsageError, match=message.replace("(", r"\(")):
        run(*arguments)


def test_outside_of_git_two_files_can_be_compared_and_revisions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    Path("a.yaml").write_text(ONE, encoding="utf-8")
    Path("b.yaml").write_text(f"# same\n{ONE}", encoding="utf-8")
    assert run("a.yaml", "b.yaml") == (0, "no difference\n")
    with pytest.raises(click.UsageError, match="not in a git repository"):
        run("HEAD")


def test_the_text_of_an_instructions_file_is_compared_too(project: Path) -> None:
    named = """\
name: named
version: "1.0.0"
steps:
  - {id: review, type: delegate, instructions_file: ../prompts/review.md}
"""
    write("named", named)
    prompt = project / "prompts" / "review.md"
    prompt.parent.mkdir()
    prompt.write_text("Review it.\nBe kind.\n")
    commit("name a file")
    assert run("HEAD") == (0, "no difference\n")
    prompt.write_text("Review it.\nBe strict.\n")
    [found] = as_json("HEAD")["workflows"]
    [change] = found["changes"]
    assert change["details"] == [
        {
            "name": "text of instructions_file",
            "old": "Review it.\nBe kind.",
            "new": "Review it.\nBe strict.",
        }
    ]
    assert "Be strict." in run("HEAD")[1]
    commit("be strict")
    # Between two commits, and between a revision of one file and the file itself.
    write("one", ONE)
    assert [one["workflow"] for one in as_json("HEAD~1", "HEAD")["workflows"]] == ["named"]
    again = as_json("HEAD~1:workflows/named.yaml", "workflows/named.yaml")
    assert again["workflows"][0]["changes"][0]["details"] == change["details"]
    prompt.unlink()
    assert as_json("HEAD")["workflows"][0]["errors"] == 1
