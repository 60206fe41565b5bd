"""Which files a server reads and writes by itself: grants by pattern, and what no grant covers."""

from __future__ import annotations

import os
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.execute.conftest import Execute
from wfc_runtime.execute import Grant, execute, protected_paths, refusal_of
from wfc_runtime.execute.permissions import matches_any, pattern_problem
from wfc_runtime.execute.protected import drop_import_folders

# -- patterns ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("reports/*.json", "reports/a.json", True),
        ("reports/*.json", "reports/sub/a.json", False),
        ("reports/*.json", "reports/a.jsonl", False),
        ("reports/*", "reports/.hidden", True),
        ("reports/**", "reports/a/b/c", True),
        ("reports/**", "reports", True),
        ("reports/**", "reports2/a", False),
        ("reports/", "reports/a/b", True),
        ("reports", "reports/a", False),
        ("**", "a/b/.c", True),
        ("*", "a", True),
        ("*", "a/b", False),
        ("**/x.md", "x.md", True),
        ("**/x.md", "a/b/x.md", True),
        ("a/**/x.md", "a/x.md", True),
        ("a/**/x.md", "b/a/x.md", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a[b]c", "abc", False),
        ("a[b]c", "a[b]c", True),
        ("./reports/x", "reports/x", True),
        ("REPORTS/x", "reports/x", False),
    ],
)
def test_a_star_stays_within_a_segment_and_two_do_not(
    root: Path, pattern: str, path: str, matches: bool
) -> None:
    assert matches_any([pattern], root, root.resolve() / path) is matches


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("../x", "`..`"),
        ("a/../b", "`..`"),
        ("a**/b", "whole segment"),
        ("a/***", "whole segment"),
        ("a\\b", "backslash"),
        ("a\0b", "NUL"),
        ("~/x", "`~`"),
        ("/etc/*", "outside the project"),
        ("/**", "outside the project"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused_with_the_reason(
    root: Path, pattern: str, why: str
) -> None:
    assert why in pattern_problem(pattern, root)


def test_an_absolute_pattern_is_for_a_granted_folder(root: Path) -> None:
    beside = root.parent / "outside"
    assert pattern_problem(f"{beside}/**", root)
    assert not pattern_problem(f"{beside}/**", root, [beside])
    assert not pattern_problem(f"{root}/a/*", root)
    grant = Grant(root, more_roots=(beside,), read=(f"{beside}/*.txt",))
    action = {"type": "read_file", "parameters": {"path": str(beside / "secret.txt")}}
    assert execute(action, grant)["content"] == "secret"
    assert refusal_of({"type": "read_file", "parameters": {"path": str(beside / "x" / "y.txt")}}, grant)


def test_an_absolute_pattern_may_lead_through_a_link(root: Path) -> None:
    (root.parent / "alias").symlink_to("outside")
    grant = Grant(root, more_roots=(root.parent / "alias",), read=(f"{root.parent}/alias/*",))
    action = {"type": "read_file", "parameters": {"path": str(root.parent / "alias" / "secret.txt")}}
    assert execute(action, grant)["content"] == "secret"


# -- what is granted -----------------------------------------------------------------

READS = {"read_file": {}, "read_json_state": {}}
WRITES: dict[str, dict[str, Any]] = {
    "create_file": {"content": "x"},
    "write_json_state": {"data": {}},
    "render_template": {"template": "x"},
}
BOTH: dict[str, dict[str, Any]] = {"merge_json_state": {"updates": {}}}


def _action(kind: str, path: str) -> dict[str, Any]:
    parameters = {**READS, **WRITES, **BOTH}[kind]
    name = "output_path" if kind == "render_template" else "path"
    return {"type": kind, "parameters": {**parameters, name: path}}


@pytest.mark.parametrize("kind", [*READS, *WRITES, *BOTH])
def test_a_command_pattern_grants_no_file(root: Path, kind: str) -> None:
    (root / "f").write_text("{}")
    action = _action(kind, "f")
    grant = Grant(root, commands=("pytest *",))
    assert "--allow-" in refusal_of(action, grant)
    assert execute(action, grant)["error"]["code"] == "refused"
    assert [path.name for path in root.iterdir()] == ["f"]


@pytest.mark.parametrize("kind", [*READS, *WRITES, *BOTH])
def test_any_command_includes_files_of_the_project(root: Path, kind: str) -> None:
    (root / "f").write_text("{}")
    assert "error" not in execute(_action(kind, "f"), Grant(root, commands=None))


@pytest.mark.parametrize("kind", [*READS, *WRITES, *BOTH])
def test_reading_and_writing_are_granted_apart(root: Path, kind: str) -> None:
    (root / "f").write_text("{}")
    done = {
        access: "error" not in execute(_action(kind, "f"), replace(Grant(root), **given))
        for access, given in {
            "read": {"read": ("f",)},
            "write": {"write": ("f",)},
            "both": {"read": ("f",), "write": ("f",)},
        }.items()
    }
    assert done == {"read": kind in READS, "write": kind in WRITES, "both": True}


@pytest.mark.parametrize(
    ("path", "is_agents"),
    [
        ("out/a", False),
        ("out/../out/a", False),
        ("out/../a", True),
        ("a", True),
        ("link/a", True),
        ("out/link/a", True),
        ("../outside/a", False),
        ("$SCRATCH/a", True),
    ],
)
def test_a_file_beside_the_patterns_is_the_agents_and_one_outside_the_folders_is_an_error(
    root: Path, path: str, is_agents: bool
) -> None:
    (root / "out").mkdir()
    (root / "other").mkdir()
    (root / "link").symlink_to("other")
    (root / "out" / "link").symlink_to("../other")
    grant = Grant(root, write=("out/**",))
    action = _action("create_file", path)
    assert bool(refusal_of(action, grant)) is is_agents
    result = execute(action, grant)
    assert ("error" in result) is (path not in ("out/a", "out/../out/a"))
    assert sorted(path.name for path in (root.parent / "outside").iterdir()) == ["secret.txt"]
    assert list((root / "other").iterdir()) == []


def test_the_scratch_folder_counts_like_any_other(root: Path) -> None:
    action = _action("create_file", "$SCRATCH/a")
    assert "error" not in execute(action, Grant(root, write=(".scratch/**",)))
    assert "error" in execute(action, Grant(root, write=("out/**",)))


def test_declared_outputs_need_a_grant_for_reading_unless_they_are_in_scratch(root: Path) -> None:
    (root / "made").write_text("found")

    def shell(path: str, grant: Grant) -> dict[str, Any]:
        parameters = {"command": "true", "outputs": {"o": {"path": path}}}
        action = {"type": "shell", "parameters": parameters}
        return {"refused": why} if (why := refusal_of(action, grant)) else execute(action, grant)

    pattern = Grant(root, commands=("true",))
    assert "--allow-read" in shell("made", pattern)["refused"]
    assert shell("made", replace(pattern, read=("made",)))["outputs"] == {"o": "found"}
    assert "matches no" in shell("made", replace(pattern, read=("other",)))["refused"]
    assert shell("$SCRATCH/made", pattern)["error"]["code"] == "output_missing"
    assert shell("made", Grant(root, commands=None))["outputs"] == {"o": "found"}


# -- what no grant covers ------------------------------------------------------------


@pytest.fixture
def project(root: Path) -> Path:
    for name in (
        ".git/hooks",
        ".wfc",
        "workflows",
        "generated",
        ".claude",
        ".github/workflows",
        "sub/.git",
        "out",
    ):
        (root / name).mkdir(parents=True)
    for name in ("pyproject.toml", ".mcp.json", ".wfc/state.db", "generated/w.py", "workflows/w.yaml"):
        (root / name).write_text("kept")
    return root


def _grant(project: Path) -> Grant:
    protected = protected_paths(
        project,
        (),
        sources=(project / "workflows", project / "templates"),
        modules=(project / "generated",),
        stores=(project / ".wfc" / "state.db",),
    )
    return Grant(project, commands=None, protected=protected)


PROTECTED = [
    "generated/evil.py",
    "generated/w.py",
    "generated/w.map.json",
    "generated/new/evil.py",
    "generated",
    "./generated/evil.py",
    "out/../generated/evil.py",
    "GENERATED/evil.py",
    "Generated/evil.py",
    "generated./evil.py",
    "generated /evil.py",
    "gene\u200brated/evil.py",
    "\uff47enerated/evil.py",
    "workflows/evil.yaml",
    "workflows/sub/evil.yaml",
    "templates/evil.yaml",
    "pyproject.toml",
    "PyProject.TOML",
    ".mcp.json",
    ".mcp.json.",
    ".pre-commit-config.yaml",
    ".wfc/state.db",
    ".wfc/state.db-wal",
    ".wfc/other",
    ".WFC/other",
    ".git/hooks/pre-commit",
    ".git/config",
    ".GIT/config",
    "\u200c.git/config",
    "sub/.git/config",
    "sub/deeper/.git/config",
    "sub/.Git/hooks/post-checkout",
    "newly/.git",
    ".claude/settings.json",
    ".Claude/commands/x.md",
    ".github/workflows/ci.yml",
    "link-to-generated/evil.py",
    "out/link/evil.py",
    "hard-link",
]


@pytest.mark.parametrize("kind", ["create_file", "write_json_state", "render_template", "merge_json_state"])
@pytest.mark.parametrize("path", PROTECTED)
def test_no_grant_lets_a_file_step_write_code_or_settings(project: Path, kind: str, path: str) -> None:
    (project / "link-to-generated").symlink_to("generated")
    (project / "out" / "link").symlink_to("../generated")
    os.link(project / "pyproject.toml", project / "hard-link")
    before = _all_files(project)
    for grant in (_grant(project), replace(_grant(project), commands=(), read=("**",), write=("**",))):
        result = execute(_action(kind, path), grant)
        assert result["error"]["code"] in ("refused", "execution"), result
        assert _all_files(project) == before


def _all_files(folder: Path) -> dict[str, str]:
    return {
        str(path): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize(
    "path",
    [
        "sub/pyproject.toml",
        "sub/.mcp.json",
        "sub/.github/x.yml",
        "gitignore",
        ".gitignore",
        ".gitattributes",
        "generated2/x.py",
        "workflows.md",
        "src/generated/x.py",
        ".wfcx/y",
    ],
)
def test_what_only_looks_like_a_protected_file_is_written(project: Path, path: str) -> None:
    assert execute(_action("create_file", path), _grant(project))["success"]


def test_a_folder_that_takes_the_place_of_another_in_between_is_recognised(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is resolved while `out` is harmless; when it is opened, `generated` has been moved there."""
    import wfc_runtime.execute.paths as paths

    locate = paths.locate

    def then_swap(*given: Any, **more: Any) -> paths.Place:
        place = locate(*given, **more)
        if not (project / "was-out").exists():
            (project / "out").rename(project / "was-out")
            (project / "generated").rename(project / "out")
            (project / "generated").symlink_to("out")
        return place

    grant = _grant(project)
    monkeypatch.setattr(paths, "locate", then_swap)
    result = execute(_action("create_file", "out/evil.py"), grant)
    assert result["error"]["code"] == "refused"
    assert [path.name for path in (project / "out").iterdir()] == ["w.py"]


def test_a_link_put_there_in_between_leads_nowhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wfc_runtime.execute.paths as paths

    locate = paths.locate

    def then_link(*given: Any, **more: Any) -> paths.Place:
        place = locate(*given, **more)
        if not (project / "out").is_symlink():
            (project / "out").rename(project / "was-out")
            (project / "out").symlink_to("generated")
        return place

    monkeypatch.setattr(paths, "locate", then_link)
    assert "error" in execute(_action("create_file", "out/evil.py"), _grant(project))
    assert [path.name for path in (project / "generated").iterdir()] == ["w.py"]


def test_the_store_is_not_read_under_any_name(project: Path) -> None:
    (project / "link").symlink_to(".wfc/state.db")
    (project / "wfc").symlink_to(".wfc")
    os.link(project / ".wfc" / "state.db", project / "hard")
    for path in (
        ".wfc/state.db",
        "link",
        "wfc/state.db",
        "hard",
        ".WFC/STATE.DB",
        "out/../.wfc/state.db-wal",
    ):
        result = execute(_action("read_file", path), _grant(project))
        assert "error" in result, path


def test_a_replaced_file_is_never_written_through_its_other_names(project: Path) -> None:
    (project / "one").write_text("old")
    os.link(project / "one", project / "two")
    assert execute(_action("create_file", "one"), _grant(project))["success"]
    assert (project / "two").read_text() == "old"


def test_places_that_the_server_imports_from_are_protected(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = project / ".venv" / "lib" / "site-packages"
    site.mkdir(parents=True)
    tools = project / "tools"
    tools.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    grant = _grant(project)
    for path in (".venv/lib/site-packages/evil.pth", "tools/pytest"):
        assert execute(_action("create_file", path), grant)["error"]["code"] == "refused"


def test_a_server_stops_importing_from_folders_that_file_steps_may_write_to(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    kept = list(sys.path)
    monkeypatch.setattr(sys, "path", ["", str(project), str(project.parent), *kept])
    drop_import_folders([project.resolve()])
    assert sys.path == kept


def test_files_of_the_repository_above_the_project_are_protected(project: Path) -> None:
    inner = project / "services" / "api"
    inner.mkdir(parents=True)
    protected = protected_paths(inner, (project,))
    grant = Grant(inner, commands=None, more_roots=(project,), protected=protected)
    for path in (
        "../../.github/workflows/x.yml",
        "../../.claude/settings.json",
        "../.mcp.json",
        "pyproject.toml",
    ):
        assert execute(_action("create_file", path), grant)["error"]["code"] == "refused"
    assert execute(_action("create_file", "../other/pyproject.toml"), grant)["success"]


def test_the_real_folder_of_a_repository_whose_git_is_a_file_is_protected(root: Path) -> None:
    (root / ".bare" / "hooks").mkdir(parents=True)
    (root / ".git").write_text("gitdir: .bare\n")
    grant = Grant(root, commands=None, protected=protected_paths(root, ()))
    assert execute(_action("create_file", ".bare/hooks/pre-commit"), grant)["error"]["code"] == "refused"


def test_a_project_that_is_its_own_workflow_folder_can_still_be_written_to(root: Path) -> None:
    protected = protected_paths(root, (), sources=(root,), modules=(root,))
    grant = Grant(root, commands=None, protected=protected)
    assert execute(_action("create_file", "notes.txt"), grant)["success"]
    for path in ("evil.py", "sub/evil.yaml", "w.yml"):
        assert execute(_action("create_file", path), grant)["error"]["code"] == "refused"


def test_names_are_compared_in_composed_and_decomposed_form(root: Path) -> None:
    folder = root / unicodedata.normalize("NFC", "flüsse")
    grant = Grant(root, commands=None, protected=protected_paths(root, (), sources=(folder,)))
    path = unicodedata.normalize("NFD", "flüsse") + "/evil.yaml"
    assert execute(_action("create_file", path), grant)["error"]["code"] == "refused"


def test_a_worktree_is_not_made_in_a_protected_place(do: Execute, project: Path) -> None:
    result = do("create_worktree", branch="b", path="generated/w", grant=_grant(project))
    assert result["error"]["code"] == "refused"
