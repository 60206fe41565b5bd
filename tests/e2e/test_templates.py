"""Folders of workflows by priority: WORKFLOWS_TEMPLATE_PATHS."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.command import wfc
from tests.runtime.support import compile_to, steps
from wfc.config import Config
from wfc.workspace.files import TEMPLATE_PATHS, named_templates, users_folder
from wfc.workspace.templates import TemplateRegistry
from wfc_runtime.errors import DefinitionError
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
