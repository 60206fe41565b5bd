"""`wfc library`: workflows are found, copied with all that they need, and compared with where they came from."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import wfc
from wfc.library import shipped_pack
from wfc.library.pack import shipped_folder

WORKFLOW = """\
name: {name}
version: "1.0.0"
description: Look, then tell.
steps:
  - {{id: look, type: mcp_call, tool: search, parameters: {{q: x}}, output_to: found}}
  - {{id: write, type: delegate, agent: "@writer", instructions_file: brief.md, output_to: text}}
"""
MANIFEST = 'name = "team"\nversion = "2.0"\ntools = ["search"]\n[grants]\nexec = ["make *"]\n'


def make_pack(folder: Path, manifest: str = MANIFEST, **files: str) -> Path:
    texts = {
        "wfc-pack.toml": manifest,
        "workflows/look.yaml": WORKFLOW.format(name="look"),
        "workflows/look.test.yaml": "tests: []\n",
        "workflows/brief.md": "Write it down.\n",
        "agents/writer.md": "---\nname: writer\ndescription: Writes.\n---\nWrite.\n",
        "agents/other.md": "---\nname: other\ndescription: Not needed.\n---\n",
        **files,
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def git(folder: Path, *words: str) -> None:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    author = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(
        ["git", *author, *words], cwd=folder, env={**os.environ, **own}, check=True, capture_output=True
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    return folder


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {
        "pyproject.toml"
    }


def test_the_library_is_listed_and_each_workflow_of_it_has_a_description_and_its_files(project: Path) -> None:
    rows = json.loads(wfc("library", "list", "--json", cwd=project).out)["workflows"]
    assert {"python-ci", "release-notes", "review-branch"} <= {row["name"] for row in rows}
    listed, pack = wfc("library", "list", cwd=project).out, shipped_pack()
    for row in rows:
        assert row["description"]
        assert row["name"] in listed
        files = pack.item(row["name"]).files
        assert any(path.endswith(".test.yaml") for path in files), row["name"]
    shown = wfc("library", "show", "review-branch", cwd=project).out
    assert ".claude/agents/code-reviewer.md" in shown
    assert "name: review-branch" in shown
    added = wfc("library", "add", "review-branch", cwd=project)
    assert added.status == 0, added.err
    assert wfc("compile", cwd=project).status == 0
    assert wfc("library", "diff", cwd=project).status == 0


def test_a_workflow_is_copied_with_what_it_calls_its_tests_its_texts_and_its_agents(project: Path) -> None:
    assert wfc("library", "add", "python-ci", cwd=project).status == 0
    assert {
        "workflows/python-ci.yaml",
        "workflows/python-tests.yaml",
        "workflows/python-tests.test.yaml",
    } <= files_of(project)
    pack = make_pack(project.parent / "pack")
    found = wfc("library", "add", str(pack), cwd=project)
    assert found.status == 0, found.err
    for part in (
        "calls  search",
        "agents @writer",
        "--allow-exec for make *; adding it grants nothing",
        "team 2.0",
    ):
        assert part in found.out
    there = files_of(project)
    assert {"workflows/look.yaml", "workflows/brief.md", ".claude/agents/writer.md"} <= there
    assert ".claude/agents/other.md" not in there
    lock = json.loads((project / "wfc-library.json").read_text(encoding="utf-8"))["workflows"]["look"]
    assert (lock["pack"], lock["version"], len(lock["digest"])) == ("team", "2.0", 64)


def test_what_would_be_copied_is_shown_and_nothing_is_copied(project: Path) -> None:
    assert "workflows/release-notes.yaml" in wfc("library", "add", "release-notes", "--show", cwd=project).out
    assert files_of(project) == set()


def test_a_file_that_the_project_has_changed_is_not_overwritten_unless_asked_for(project: Path) -> None:
    pack = make_pack(project.parent / "pack")
    assert wfc("library", "add", str(pack), cwd=project).status == 0
    (pack / "workflows/brief.md").write_text("Write it well.\n", encoding="utf-8")
    # Unchanged here: an update is no conflict.
    assert wfc("library", "add", str(pack), cwd=project).status == 0
    assert (project / "workflows/brief.md").read_text(encoding="utf-8") == "Write it well.\n"
    (project / "workflows/brief.md").write_text("Ours.\n", encoding="utf-8")
    refused = wfc("library", "add", str(pack), cwd=project)
    assert (refused.status, "its own `workflows/brief.md`" in refused.err) == (2, True)
    assert (project / "workflows/brief.md").read_text(encoding="utf-8") == "Ours.\n"
    assert wfc("library", "add", str(pack), "--overwrite", cwd=project).status == 0
    assert (project / "workflows/brief.md").read_text(encoding="utf-8") == "Write it well.\n"


def test_the_difference_shows_what_changed_upstream_and_not_what_changed_here(project: Path) -> None:
    pack = make_pack(project.parent / "pack")
    wfc("library", "add", str(pack), cwd=project)
    (pack / "workflows/brief.md").write_text("Write it well.\n", encoding="utf-8")
    (project / "workflows/look.yaml").write_text(WORKFLOW.format(name="look") + "# ours\n", encoding="utf-8")
    found = wfc("library", "diff", "look", cwd=project)
    assert found.status == 1
    assert "-Write it down.\n+Write it well.\n" in found.out
    assert "# ours" not in found.out
    assert "changed in this project: workflows/look.yaml" in found.out
    (pack / "workflows/look.yaml").write_text(WORKFLOW.format(name="seen"), encoding="utf-8")
    assert "no longer has it" in wfc("library", "diff", cwd=project).out


def test_a_pack_in_git_is_added_at_a_revision_and_runs_no_hook(project: Path) -> None:
    source = make_pack(project.parent / "source")
    git(source, "init", "-q", "-b", "main")
    git(source, "add", "-A")
    git(source, "commit", "-qm", "one")
    git(source, "tag", "v1")
    (source / "workflows/brief.md").write_text("Second.\n", encoding="utf-8")
    git(source, "commit", "-qam", "two")
    bare = project.parent / "team.git"
    git(source, "clone", "-q", "--bare", str(source), str(bare))
    template = project.parent / "template"
    (template / "hooks").mkdir(parents=True)
    hook = template / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {project.parent}/owned\n", encoding="utf-8")
    hook.chmod(0o755)
    env = {"GIT_TEMPLATE_DIR": str(template)}
    assert wfc("library", "add", str(bare), "--revision", "v1", cwd=project, env=env).status == 0
    assert (project / "workflows/brief.md").read_text(encoding="utf-8") == "Write it down.\n"
    assert not (project.parent / "owned").exists()
    assert "+Second." in wfc("library", "diff", cwd=project).out
    assert "at " in wfc("library", "add", str(bare), cwd=project).out
    assert (project / "workflows/brief.md").read_text(encoding="utf-8") == "Second.\n"


HOSTILE = {
    "no manifest": ({}, None, "there is no wfc-pack.toml"),
    "not TOML": ({}, "name = ", "is not valid TOML"),
    "an unknown key": ({}, MANIFEST.replace("tools", "scripts"), "unknown key `scripts`"),
    "a name with a path": ({}, 'name = "../x"\nversion = "1"\n', "`name` in wfc-pack.toml"),
    "a version that is no text": ({}, 'name = "x"\nversion = 1\n', "`version` in wfc-pack.toml"),
    "a pattern upwards": ({}, 'name = "x"\nversion = "1"\nworkflows = ["../*.yaml"]\n', "leaves the pack"),
    "an absolute pattern": (
        {},
        'name = "x"\nversion = "1"\nworkflows = ["/etc/*.yaml"]\n',
        "leaves the pack",
    ),
    "tools that are no list": ({}, 'name = "x"\nversion = "1"\ntools = "all"\n', "must be a list of texts"),
    "unknown grants": ({}, 'name = "x"\nversion = "1"\n[grants]\nroot = ["x"]\n', "must be a table with"),
    "an undeclared tool": ({}, MANIFEST.replace("search", "other"), "calls the tool `search`"),
    "a workflow with errors": ({"workflows/look.yaml": "name: look\nsteps: 3\n"}, MANIFEST, "has errors"),
    "two of one name": ({"workflows/b.yaml": WORKFLOW.format(name="look")}, MANIFEST, "two workflows `look`"),
    "no workflows": ({"workflows/look.yaml": "just text\n"}, MANIFEST, "is not a workflow"),
    "a text that is missing": (
        {"workflows/look.yaml": WORKFLOW.format(name="look").replace("brief", "none")},
        MANIFEST,
        "none.md",
    ),
    "a text outside": (
        {"workflows/look.yaml": WORKFLOW.format(name="look").replace("brief.md", "../../secret.md")},
        MANIFEST,
        "leads out of the pack",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_pack_that_is_not_right_is_refused_and_nothing_is_copied(project: Path, case: str) -> None:
    files, manifest, said = HOSTILE[case]
    (project.parent / "secret.md").write_text("secret\n", encoding="utf-8")
    pack = make_pack(project.parent / "pack", manifest or "", **files)
    if manifest is None:
        (pack / "wfc-pack.toml").unlink()
    found = wfc("library", "add", str(pack), cwd=project)
    assert found.status == 2
    assert said in found.err
    assert files_of(project) == set()


def test_links_lead_neither_out_of_a_pack_nor_out_of_the_project(project: Path) -> None:
    secret = project.parent / "secret.yaml"
    secret.write_text(WORKFLOW.format(name="secret"), encoding="utf-8")
    pack = make_pack(project.parent / "pack")
    (pack / "workflows/secret.yaml").symlink_to(secret)
    assert "leads out of the pack" in wfc("library", "add", str(pack), cwd=project).err
    (pack / "workflows/secret.yaml").unlink()
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (project / "workflows").symlink_to(elsewhere)
    assert "outside this project" in wfc("library", "add", str(pack), cwd=project).err
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c touch% /tmp/x",
        "http://example.org/x",
        "git://example.org/x",
        "file:///etc",
        "--upload-pack=touch /tmp/x.git",
        "https://-x@example.org/x y",
        "./no-such-folder",
        "ssh://-oProxyCommand=x/y",
    ],
)
def test_other_addresses_are_refused_before_git_is_called(project: Path, address: str) -> None:
    found = wfc("library", "add", "--", address, cwd=project)
    assert found.status == 2
    assert not found.err.startswith("wfc: git ")
    assert files_of(project) == set()


def test_wrong_names_and_a_damaged_record_are_told(project: Path) -> None:
    assert "python-ci" in wfc("library", "add", "pyton-ci", cwd=project).err
    assert "was not added" in wfc("library", "diff", "python-ci", cwd=project).err
    assert "no workflow of this project was added" in wfc("library", "diff", cwd=project).out
    (project / "wfc-library.json").write_text("{", encoding="utf-8")
    assert "is damaged" in wfc("library", "diff", cwd=project).err


def test_the_shipped_folder_has_workflows() -> None:
    assert (shipped_folder() / "workflows" / "python-ci.yaml").is_file()
