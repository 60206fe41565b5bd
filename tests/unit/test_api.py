"""The Python API. Nothing of wfc is imported here but public names."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import wfc
import wfc_runtime
from tests.support import PATIENCE, ROOT
from tests.unit.test_imports import imported_by

FLOW = """\
name: {name}
version: "1.0.0"
inputs:
  tag: {{type: string, required: true}}
steps:
  - {{id: build, type: shell, command: "make {{{{ inputs.tag | shquote }}}}", output_to: build}}
  - {{id: done, type: return, needs_state: [build], value: "{{{{ state.build.{read} }}}}"}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "workflows").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\ngenerated = "made"\n')
    for name, read in (("good", "exit_code"), ("bad", "exitcode")):
        (tmp_path / "workflows" / f"{name}.yaml").write_text(FLOW.format(name=name, read=read))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_check_gives_findings_as_data(project: Path) -> None:
    [found] = wfc.check()
    assert (found.code, found.name, found.severity) == ("WF206", "no-such-property", "error")
    assert (found.file, found.line, found.step) == ("workflows/bad.yaml", 7, "done")
    assert "exitcode" in found.message
    assert isinstance(found, wfc.Finding)


@pytest.mark.parametrize(
    "paths",
    [
        "workflows",
        Path("workflows"),
        ["workflows/bad.yaml", Path("workflows/good.yaml")],
        iter(["workflows"]),
    ],
)
def test_paths_are_one_or_several_of_any_kind(project: Path, paths: object) -> None:
    assert [found.code for found in wfc.check(paths)] == ["WF206"]  # type: ignore[arg-type]


def test_a_secret_in_a_message_is_masked(project: Path) -> None:
    text = (
        FLOW.format(name="good", read="exit_code")
        + '  - {id: put, type: "ghp_0123456789abcdefghijABCDEFGHIJ0123"}\n'
    )
    (project / "workflows" / "good.yaml").write_text(text)
    found = wfc.check("workflows/good.yaml")
    assert "WF504" in {one.code for one in found}
    assert not any("abcdefghij" in one.message + one.help for one in found)


@pytest.mark.parametrize("wrong", ["nowhere", "", "workflows/missing.yaml"])
def test_a_path_that_is_not_there_is_an_error_of_the_api(project: Path, wrong: str) -> None:
    for function in (wfc.check, wfc.compile):
        with pytest.raises(wfc.ProjectError):
            function(wrong)


def test_settings_that_cannot_be_used_are_an_error_of_the_api(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.wfc]\nworkflos = 1\n")
    with pytest.raises(wfc.ProjectError, match="workflos"):
        wfc.check()


def test_compiling_gives_modules_and_writes_nothing_until_told(project: Path) -> None:
    compilation = wfc.compile()
    [module] = compilation.modules
    assert (module.workflow, module.source, module.path) == (
        "good",
        "workflows/good.yaml",
        Path("made/good.py"),
    )
    assert [found.code for found in compilation.findings] == ["WF206"]
    assert not (project / "made").exists()
    compilation.write()
    assert {path.name: path.read_text() for path in (project / "made").iterdir()} == module.files
    assert module.files["good.py"] == module.text


def test_what_it_writes_is_what_the_command_writes(project: Path) -> None:
    (project / "workflows" / "bad.yaml").unlink()
    wfc.compile().write()
    command = [sys.executable, "-m", "wfc", "compile", "--check", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "made: 1 unchanged\n")


@pytest.mark.parametrize("path", [".", ".wfc/state.db"])
def test_a_service_runs_what_was_compiled(project: Path, path: str) -> None:
    wfc.compile().write()
    with closing(wfc_runtime.open(path, "made")) as service:
        reply: wfc_runtime.Reply = service.start("good", {"tag": "v1"})
        [action] = wfc_runtime.actions_of(reply)
        run, step = reply["workflow_id"], str(action["step_id"])
    with closing(wfc_runtime.open(path, "made")) as service:
        reply = service.submit(run, step, {"exit_code": 0, "stdout": "", "stderr": ""})
        assert (reply["status"], reply["result"]) == ("completed", 0)
        with pytest.raises(wfc_runtime.WfcError):
            service.start("nobody")


def test_modules_are_looked_for_in_the_generated_folder_of_the_project(project: Path) -> None:
    wfc.compile().write()
    (project / "made").rename(project / "generated")
    for path in (project, project / ".wfc" / "state.db", project / "runs.db"):
        with closing(wfc_runtime.open(path)) as service:
            assert service.start("good", {"tag": "v1"})["status"] == "pending_action"


@pytest.mark.parametrize("package", ["wfc", "wfc_runtime"])
def test_importing_a_package_loads_nothing_else_of_it(package: str, tmp_path: Path) -> None:
    found = imported_by(f"import {package}", cwd=tmp_path)
    assert {one for one in found if one.startswith(("wfc.", "wfc_runtime."))} == set()
    assert not found & {"yaml", "jinja2", "click", "statemachine"}


@pytest.mark.parametrize("package", [wfc, wfc_runtime])
def test_every_public_name_is_there_and_documented(package: object) -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    prefix = package.__name__  # type: ignore[attr-defined]
    for name in package.__all__:  # type: ignore[attr-defined]
        found = getattr(package, name)
        assert name == "Reply" or inspect.getdoc(found), name
        assert name == "Reply" or f"{prefix}.{name}" in page, name
    with pytest.raises(AttributeError):
        _ = package.nonsense  # type: ignore[attr-defined]


def test_these_tests_use_public_names_only() -> None:
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    used = {
        (node.value.id, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    for package in (wfc, wfc_runtime):
        assert {name for owner, name in used if owner == package.__name__} <= {*package.__all__, "__name__"}
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [module for module in imported if (module or "").startswith("wfc")]


def test_programs_that_use_it_are_typed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import wfc, wfc_runtime\n"
        "reveal_type(wfc.check('x'))\n"
        "reveal_type(wfc.compile(['x']).modules[0].files)\n"
        "reveal_type(wfc_runtime.open('x').start('y'))\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout
    kinds = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert kinds == ["list[wfc.api.Finding]", "dict[str, str]", "dict[str, Any]"]
