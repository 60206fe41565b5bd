"""Folders of workflows by priority: WORKFLOWS_TEMPLATE_PATHS."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import wfc
from tests.runtime.support import compile_to, steps
from wfc.config import Config
from wfc.library import shipped_pack
from wfc.workspace.files import TEMPLATE_PATHS, named_templates, users_folder
from wfc.workspace.shipped import shipped_folder
from wfc.workspace.templates import TemplateRegistry
from wfc_runtime.errors import DefinitionError, NotFoundError
from wfc_runtime.server.workflows import listed


def _says(name: str, value: str, more: str = "") -> str:
    return steps(f"{{id: r, type: return, value: {value}}}{more}", name=name)


def _said(registry: TemplateRegistry, name: str) -> object:
    return registry.find(name).workflow.machine.steps["r"].value  # type: ignore[attr-defined]


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TemplateRegistry:
    compile_to(tmp_path / "generated", _says("shared", "project"), _says("own", "project"))
    for folder, text in (("one", "first"), ("two", "second")):
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "deep" / "shared.yaml").write_text(_says("shared", text))
    (tmp_path / "one" / "only.yml").write_text(_says("only-one", "first"))
    monkeypatch.setenv(TEMPLATE_PATHS, f" {tmp_path}/one, ,{tmp_path}/two,")
    return TemplateRegistry(Config(tmp_path), tmp_path / "generated", named_templates())


def test_a_later_folder_goes_before_an_earlier_one_and_both_before_the_project(
    registry: TemplateRegistry,
) -> None:
    assert _said(registry, "shared") == "second"
    assert _said(registry, "only-one") == "first"
    assert _said(registry, "own") == "project"
    assert [module.workflow.name for module in registry.modules()] == ["only-one", "own", "shared"]
    assert registry.problems() == []


def test_a_file_that_changes_is_compiled_again(registry: TemplateRegistry, tmp_path: Path) -> None:
    assert _said(registry, "shared") == "second"
    path = tmp_path / "two" / "deep" / "shared.yaml"
    path.write_text(_says("shared", "another"))
    os.utime(path, ns=(1, 1))
    assert _said(registry, "shared") == "another"
    path.unlink()
    assert _said(registry, "shared") == "first"


def test_what_is_broken_is_said_and_hides_what_it_stands_before(
    registry: TemplateRegistry, tmp_path: Path
) -> None:
    (tmp_path / "two" / "own.yaml").write_text(steps("{id: r, type: retrun}", name="own"))
    with pytest.raises(DefinitionError, match="WF007"):
        registry.find("own")
    assert [error.code for error in registry.problems()] == ["template_broken"]
    assert "own" not in [module.workflow.name for module in registry.modules()]


def test_a_folder_that_is_not_there_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    registry = TemplateRegistry(Config(tmp_path), tmp_path / "generated", [tmp_path / "nowhere"])
    assert registry.modules() == []
    assert [error.code for error in registry.problems()] == ["template_folder"]


def test_the_folders_begin_at_home_where_they_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TEMPLATE_PATHS, "~/flows")
    assert named_templates() == [Path.home() / "flows"]


def test_a_workflow_of_the_project_hides_one_of_the_user_and_the_list_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    compile_to(project / "generated", _says("shared", "project"))
    users = home / ".aromcp" / "workflows"
    users.mkdir(parents=True)
    (users / "shared.yaml").write_text(_says("shared", "user"))
    (users / "only.yaml").write_text(_says("only", "user"))
    (users / "bad.yaml").write_text(steps("{id: r, type: retrun}", name="bad"))
    monkeypatch.setenv("HOME", str(home))
    registry = TemplateRegistry(Config(project), project / "generated", [], None, users_folder())
    assert (_said(registry, "shared"), _said(registry, "only")) == ("project", "user")
    assert [module.workflow.name for module in registry.modules()] == ["only", "shared"]
    assert registry.hidden() == [("shared", str(users / "shared.yaml"))]
    assert listed(registry, "")["hidden"] == [{"workflow": "shared", "found_at": str(users / "shared.yaml")}]
    with pytest.raises(DefinitionError, match="WF007"):
        registry.find("bad")


@pytest.fixture
def with_library(tmp_path: Path) -> TemplateRegistry:
    return TemplateRegistry(Config(tmp_path), tmp_path / "generated", [], library=shipped_folder())


def test_a_workflow_of_the_library_is_loaded_alone_and_without_the_compiler(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from wfc.config import Config
from wfc.workspace.shipped import shipped_folder
from wfc.workspace.templates import TemplateRegistry
registry = TemplateRegistry(Config(Path()), Path("generated"), [], library=shipped_folder())
print(registry.find("bugs:triage").workflow.name, registry.is_from_library("bugs:triage"))
print([name for name in sys.modules if name in ("wfc.compiler", "wfc.project", "wfc.emit")])
print(len([name for name in sys.modules if name.startswith("wfc_generated_")]))
"""
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines() == ["bugs:triage True", "[]", "1"]


def test_every_workflow_of_the_library_is_found_by_its_name_and_names_its_source(
    with_library: TemplateRegistry,
) -> None:
    for name, file in shipped_pack().files.items():
        module = with_library.find(name)
        assert (module.workflow.name, module.source) == (name, file.source.path)
        assert module.map_error is None
        # A run asks for its version by the digest.
        assert with_library.of_digest(module.digest) is module
    assert {one.workflow.name for one in with_library.modules()} == set(shipped_pack().files)
    assert with_library.problems() == []


def test_a_workflow_of_the_project_or_of_the_user_hides_one_of_the_library(
    tmp_path: Path, with_library: TemplateRegistry
) -> None:
    users = tmp_path / "users"
    users.mkdir()
    (users / "python-ci.yaml").write_text(_says("python-ci", "user"))
    both = TemplateRegistry(Config(tmp_path), tmp_path / "generated", [], None, users, shipped_folder())
    assert with_library.is_from_library("python-ci")
    assert _said(both, "python-ci") == "user"
    assert not both.is_from_library("python-ci")
    compile_to(tmp_path / "generated", _says("python-ci", "project"))
    for registry in (both, with_library):
        assert _said(registry, "python-ci") == "project"
        assert not registry.is_from_library("python-ci")
        assert [one.workflow.name for one in registry.modules()].count("python-ci") == 1
    # One that is broken hides it too: another workflow must not be started in its place.
    module = tmp_path / "generated" / "python_ci.py"
    module.write_text(module.read_text() + "# edited")
    with pytest.raises(DefinitionError, match="has been edited"):
        with_library.find("python-ci")


def test_a_name_that_neither_the_project_nor_the_library_has_is_refused_with_the_nearest(
    with_library: TemplateRegistry,
) -> None:
    with pytest.raises(NotFoundError, match=r"there is no workflow `\.\./fix-bug`") as refused:
        with_library.find("../fix-bug")
    assert "fix-bug" in refused.value.hint


def test_check_and_compile_look_into_the_aromcp_folder_of_the_project_and_not_into_that_of_the_user(
    tmp_path: Path,
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    for folder, name in ((project, "here"), (home, "elsewhere")):
        (folder / ".aromcp" / "workflows").mkdir(parents=True)
        (folder / ".aromcp" / "workflows" / "a:b.yaml").write_text(_says(f"{name}:b", "1"))
    (project / "pyproject.toml").write_text("[tool.wfc]\n")
    env = {"HOME": str(home)}
    assert "checked 1 workflow" in wfc("check", cwd=project, env=env).out
    assert wfc("compile", cwd=project, env=env).status == 0
    assert sorted(path.name for path in (project / "generated").glob("*.py")) == ["here_b.py"]
    (project / "workflows").mkdir()
    (project / "workflows" / "c.yaml").write_text(_says("here_b", "2"))
    clash = wfc("check", cwd=project, env=env)
    assert "both need the module `here_b.py`" in clash.out
