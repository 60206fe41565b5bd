"""The line map beside each module: written, compared and removed with it, and never believed where it is not ours."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import SMALL, wfc, write
from tests.e2e.test_module_trust import OWN, Project
from tests.e2e.test_module_trust import project as trusted  # noqa: F401
from wfc.emit.module import with_header
from wfc_runtime.header import digest, read_header
from wfc_runtime.line_map import write_line_map
from wfc_runtime.registry import Registry


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nworkflows = "flows"\ngenerated = "made"\n')
    write(tmp_path / "flows", alpha="", beta="")
    assert wfc("compile", "-q", cwd=tmp_path).status == 0
    return tmp_path


def made(project: Path) -> list[str]:
    return sorted(path.name for path in (project / "made").iterdir())


def test_a_map_is_written_beside_each_module(compiled: Path) -> None:
    assert made(compiled) == ["alpha.map.json", "alpha.py", "beta.map.json", "beta.py"]
    read = json.loads((compiled / "made" / "alpha.map.json").read_text())
    header = read_header((compiled / "made" / "alpha.py").read_text())
    assert header is not None
    assert (read["source"], read["lines"]) == (f"sha256:{header.source}", {"alpha": {"build": 4}})


def test_a_comment_changes_one_line_of_the_module_and_its_map(compiled: Path) -> None:
    module, line_map = compiled / "made" / "alpha.py", compiled / "made" / "alpha.map.json"
    before = module.read_text().splitlines()
    write(compiled / "flows", alpha="# Why it is there.\n" + SMALL.format(name="alpha"))
    assert wfc("compile", cwd=compiled).out == "made: wrote 1, 1 unchanged\n"
    after = module.read_text().splitlines()
    assert [number for number, line in enumerate(before) if line != after[number]] == [2]
    assert len(after) == len(before)
    assert json.loads(line_map.read_text())["lines"] == {"alpha": {"build": 5}}


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda text: None, "WF701 stale-output", "has not been generated"),
        (lambda text: text.replace('"build": 4', '"build": 1'), "WF702 edited-output", "was edited by hand"),
        (
            lambda text: write_line_map("flows/alpha.yaml", digest("x"), {"alpha": {"build": 4}}),
            "WF701 stale-output",
            "is not what its source says",
        ),
        (
            lambda text: text.replace("{\n  ", "{\n<<<<<<< ours\n  ", 1).replace("\n}", "\n>>>>>>> b\n}"),
            "WF702 edited-output",
            "has conflicts that a merge left",
        ),
    ],
    ids=["missing", "edited", "stale", "conflicted"],
)
def test_check_finds_a_map_that_is_not_what_was_compiled(
    compiled: Path, change, code: str, said: str
) -> None:
    path = compiled / "made" / "alpha.map.json"
    right = path.read_text()
    changed = change(right)
    path.unlink() if changed is None else path.write_text(changed)
    done = wfc("compile", "--check", cwd=compiled)
    assert done.status == 1
    assert f"error[{code}]: `made/alpha.map.json` {said}" in done.out
    assert "made: would write 1, 1 unchanged" in done.out
    assert wfc("compile", cwd=compiled).status == 0
    assert path.read_text() == right


def test_a_map_is_named_only_where_its_module_says_less(compiled: Path) -> None:
    write(compiled / "flows", alpha="# Why.\n" + SMALL.format(name="alpha"), gamma="")
    done = wfc("compile", "--check", cwd=compiled)
    assert done.out.count("error[WF701 stale-output]") == 2
    assert "map.json" not in done.out


def test_a_file_of_that_name_that_wfc_did_not_make_is_never_overwritten(compiled: Path) -> None:
    path = compiled / "made" / "gamma.map.json"
    path.write_text('{"mine": 1}')
    write(compiled / "flows", gamma="")
    done = wfc("compile", cwd=compiled)
    assert done.status == 1
    assert "error[WF702 edited-output]: `made/gamma.map.json` is in the way: wfc did not make it" in done.out
    assert path.read_text() == '{"mine": 1}'


def test_maps_of_workflows_that_have_gone_are_removed_also_without_their_module(compiled: Path) -> None:
    (compiled / "made" / "theirs.map.json").write_text("{}")
    (compiled / "made" / "beta.py").unlink()
    (compiled / "flows" / "beta.yaml").unlink()
    (compiled / "flows" / "alpha.yaml").unlink()
    done = wfc("compile", "--check", cwd=compiled)
    assert done.out.count("was made from a workflow that has gone") == 2
    assert "`made/beta.map.json` was made from a workflow that has gone" in done.out
    assert wfc("compile", cwd=compiled).out == "made: removed 2\n"
    assert made(compiled) == ["theirs.map.json"]


def test_an_edit_of_a_map_is_said_to_be_gone(compiled: Path) -> None:
    path = compiled / "made" / "alpha.map.json"
    path.write_text(path.read_text().replace('"build": 4', '"build": 1'))
    assert "made/alpha.map.json had been edited by hand" in wfc("compile", cwd=compiled).out


def test_the_remembered_answer_notices_a_changed_map(compiled: Path) -> None:
    assert wfc("compile", "--check", cwd=compiled).status == 0
    path = compiled / "made" / "alpha.map.json"
    path.write_text(path.read_text().replace('"build": 4', '"build": 1'))
    assert wfc("compile", "--check", cwd=compiled).status == 1


def test_a_map_that_is_not_staged_is_missing_in_the_commit(compiled: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=compiled, check=True, capture_output=True)

    git("init", "-q")
    git("add", "pyproject.toml", "flows", "made/alpha.py", "made/beta.py", "made/beta.map.json")
    done = wfc("compile", "--check", "--staged", cwd=compiled)
    assert done.status == 1
    assert "`made/alpha.map.json` has not been generated" in done.out
    git("add", "made")
    assert wfc("compile", "--check", "--staged", cwd=compiled).status == 0


# Trust: a map that changes while a server runs.


def place(project: Project) -> str:
    return project.registry.find("own").place_of("own", "r")


@pytest.fixture
def own(trusted: Project) -> Project:  # noqa: F811
    assert place(trusted) == "workflows/own.yaml:5"
    return trusted


def source_digest(project: Project) -> str:
    header = read_header((project.generated / "own.py").read_text())
    assert header is not None
    return header.source


def test_a_forged_map_is_not_shown_from_and_that_is_said(own: Project) -> None:
    forged = write_line_map("workflows/own.yaml", source_digest(own), {"own": {"r": 1}})
    (own.generated / "own.map.json").write_text(forged)
    assert place(own) == "workflows/own.yaml"
    assert "own.map.json is untrusted: it changed after the server started" in own.said()
    assert "it is not what `workflows/own.yaml` compiles to" in own.said()


def test_an_edited_map_is_not_shown_from_and_that_is_said(own: Project) -> None:
    path = own.generated / "own.map.json"
    path.write_text(path.read_text().replace('"r": 5', '"r": 1'))
    for registry in (own.registry, Registry(own.generated)):
        own.registry = registry
        assert place(own) == "workflows/own.yaml"
        assert own.said() == f"map_edited: {path} has been edited: it does not match its digest"
    own.compile()
    assert (place(own), own.said()) == ("workflows/own.yaml:5", "")


def test_the_map_of_another_version_is_not_shown_from(own: Project) -> None:
    old = (own.generated / "own.map.json").read_bytes()
    (own.sources / "own.yaml").write_text("# more\n" + OWN, encoding="utf-8")
    own.compile()
    assert place(own) == "workflows/own.yaml:6"
    own.put(old, "own.map.json")
    assert place(own) == "workflows/own.yaml"
    assert "belongs to another version of the module" in own.said()


def test_a_module_runs_without_its_map(own: Project) -> None:
    (own.generated / "own.map.json").unlink()
    assert place(own) == "workflows/own.yaml"
    assert "map_missing" in own.said()
    assert own.registry.find("own").workflow.machine.simulate({}).result == 1


@pytest.mark.parametrize("kind", ["fifo", "folder", "link to a device"])
def test_a_map_that_is_not_a_file_does_no_harm(own: Project, kind: str) -> None:
    path = own.generated / "own.map.json"
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    assert place(own) == "workflows/own.yaml"
    assert "map_missing" in own.said()


def test_a_map_never_becomes_code(own: Project) -> None:
    """Not even one that is a module, with a right digest and in the place of a trusted one."""
    (own.generated / "own.map.json").write_bytes(own.evil())
    text = with_header("workflows/own.yaml", digest(OWN), own.mark)
    (own.generated / "fresh.map.json").write_text(text)
    assert place(own) == "workflows/own.yaml"
    assert own.names() == ["other", "own"]
    assert not (own.root / "executed").exists()
