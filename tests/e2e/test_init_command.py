"""`wfc init`, and `wfc doctor` on what it wrote and on what can go wrong with it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.e2e.command import Result, wfc
from tests.support import ROOT
from wfc.config import CompileLimits
from wfc.doctor import examine
from wfc.emit.module import with_header
from wfc.testfiles.reader import Reader
from wfc_runtime.header import digest

ENV = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert wfc("init", cwd=tmp_path).status == 0
    return tmp_path


def doctor(folder: Path) -> tuple[Result, dict[str, list[dict[str, str]]]]:
    result = wfc("doctor", "--json", cwd=folder, env=ENV)
    parts: dict[str, list[dict[str, str]]] = {}
    for one in json.loads(result.out)["results"]:
        parts.setdefault(one["part"], []).append(one)
    return result, parts


def test_a_new_project_is_checked_compiled_and_tested_at_once(project: Path) -> None:
    assert wfc("check", cwd=project).out == "checked 1 workflow and 1 test file: all clean\n"
    assert wfc("compile", "--check", cwd=project).status == 0
    tested = wfc("test", "--min-coverage", "100", cwd=project)
    assert tested.status == 0, tested.out + tested.err
    assert json.loads((project / ".mcp.json").read_text())["mcpServers"]["wfc"]["args"] == ["serve"]
    settings = json.loads((project / ".vscode" / "settings.json").read_text())
    assert all((project / schema).is_file() for schema in settings["yaml.schemas"])


def test_the_editor_schemas_accept_every_shipped_workflow_of_each_language_and_every_test_file(
    project: Path,
) -> None:
    settings = json.loads((project / ".vscode" / "settings.json").read_text())
    workflows, tests = settings["yaml.schemas"]
    shipped = sorted((ROOT / "workflows").glob("*.yaml"))
    assert any("\nblocks:" in path.read_text() for path in shipped)
    assert any("\nsteps:" in path.read_text() for path in shipped)
    for schema, files in (
        (workflows, [path for path in shipped if ".test." not in path.name]),
        (tests, [path for path in shipped if ".test." in path.name]),
    ):
        validator = jsonschema.Draft7Validator(json.loads((project / schema).read_text()))
        for path in files:
            reader = Reader.of(str(path), path.read_bytes(), CompileLimits())
            assert reader.root is not None
            found = [error.message for error in validator.iter_errors(reader.data(reader.root))]
            assert found == [], path


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("any", "name: a\nversion: '1'\nsteps: [{id: a, type: shel, command: make}]\n"),
        ("any", "name: a\nversion: '1'\nsteps: [{id: a, type: shell, comand: make}]\n"),
        ("any", "name: a\nblocks: [{id: a, type: Shel, inputs: {command: make}}]\n"),
        ("any", "name: a\nblocks: [{id: a, type: Shell, inputs: {command: make}, dependson: [b]}]\n"),
        ("any", "name: a\n"),
        ("tests", "tests: [{name: a, answer: {}}]\n"),
    ],
)
def test_the_schemas_still_refuse_mistakes(project: Path, schema: str, text: str) -> None:
    made = json.loads(wfc("schema", schema, cwd=project).out)
    jsonschema.Draft7Validator.check_schema(made)
    reader = Reader.of("x.yaml", text.encode(), CompileLimits())
    assert reader.root is not None
    assert not jsonschema.Draft7Validator(made).is_valid(reader.data(reader.root))


def test_the_problem_matchers_are_those_of_this_repository_and_find_each_finding(project: Path) -> None:
    name = Path(".github") / "wfc-problem-matcher.json"
    assert (project / name).read_bytes() == (ROOT / name).read_bytes()
    [task] = json.loads((project / ".vscode" / "tasks.json").read_text())["tasks"]
    pattern = task["problemMatcher"]["pattern"]
    bad = project / "workflows" / "bad.yaml"
    bad.write_text("name: bad\nversion: '1'\nsteps: [{id: a, type: shell, comand: make, needs_state: [x]}]\n")
    done = wfc("check", "workflows/bad.yaml", cwd=project)
    found = [re.match(pattern["regexp"], line) for line in done.out.splitlines()]
    matched = [(one[pattern["file"]], one[pattern["severity"]], one[pattern["code"]]) for one in found if one]
    expected = json.loads(wfc("check", "workflows/bad.yaml", "--format", "json", cwd=project).out)["findings"]
    assert matched == [(one["file"], one["severity"], one["code"]) for one in expected]
    assert len(matched) >= 2


def test_the_editor_settings_name_the_folder_of_the_workflows(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nworkflows = "flows"\n')
    assert wfc("init", cwd=tmp_path).status == 0
    settings = json.loads((tmp_path / ".vscode" / "settings.json").read_text())
    patterns = [one for some in settings["yaml.schemas"].values() for one in some]
    assert all(one.lstrip("!").startswith("flows/") for one in patterns)


def test_nothing_that_is_there_is_changed_and_what_to_add_is_said(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nworkflows = "flows"\n')
    mine = '{"mcpServers": {"other": {"command": "other"}}}'
    (tmp_path / ".mcp.json").write_text(mine)
    (tmp_path / ".gitignore").write_text("*.log\n.wfc/\n")
    result = wfc("init", cwd=tmp_path)
    assert result.status == 0
    assert (tmp_path / ".mcp.json").read_text() == mine
    assert (tmp_path / ".gitignore").read_text() == "*.log\n.wfc/\n"
    assert "add this to it:" in result.out
    assert '"args": [' in result.out
    assert "kept     .gitignore: it has runs kept out of git already" in result.out
    assert (tmp_path / "flows" / "summarise-changes.yaml").is_file()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert wfc("init", cwd=tmp_path).status == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before


def test_show_writes_nothing(tmp_path: Path) -> None:
    result = wfc("init", "--show", cwd=tmp_path)
    assert result.status == 0
    assert "wfc-compile" in result.out
    assert list(tmp_path.iterdir()) == []


def test_it_is_run_where_the_project_begins(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    (tmp_path / "inside").mkdir()
    result = wfc("init", cwd=tmp_path / "inside")
    assert result.status == 2
    assert "run wfc init there" in result.err


def test_the_doctor_finds_a_new_project_well_and_its_server_answering(project: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "install"], cwd=project, check=True, capture_output=True
    )
    result, parts = doctor(project)
    assert result.status == 0
    assert {one["status"] for results in parts.values() for one in results} == {"ok"}
    assert "answers, with" in parts["agent"][0]["message"]


def test_its_hooks_are_those_that_the_repository_offers(project: Path) -> None:
    """But for where the program comes from, and what pre-commit shows of a hook in a list of hooks."""
    config = yaml.safe_load((project / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    for hook in offered:
        del hook["description"]
        hook["language"] = "system"
    assert config["repos"][0]["hooks"] == offered


def test_the_doctor_names_modules_that_no_source_of_the_project_vouches_for(project: Path) -> None:
    wfc("init", cwd=project)
    wfc("compile", cwd=project)
    (project / "generated" / "evil.py").write_text(with_header("../evil.yaml", digest("x"), "1 / 0\n"))
    _, parts = doctor(project)
    [fine, told] = parts["modules"]
    assert fine["status"] == "ok"
    assert told["status"] == "note"
    assert "`generated/evil.py` is untrusted: its header names `../evil.yaml`" in told["message"]


def test_the_doctor_says_that_hooks_are_not_switched_on(project: Path) -> None:
    (found,) = (one for one in examine(project) if one.part == "hooks")
    assert found.status == "note"
    assert "not installed in git" in found.message
    assert "`pre-commit install`" in found.help


def test_the_doctor_says_what_is_wrong_and_what_to_do(project: Path) -> None:
    (project / ".mcp.json").write_text(
        '{"mcpServers": {"wfc": {"command": "/no/such/wfc", "args": ["serve"]}}}'
    )
    module = project / "generated" / "summarise_changes.py"
    module.write_text(module.read_text() + "X = 1\n")
    (project / ".wfc").mkdir()
    (project / ".wfc" / "state.db").write_text("not a database")
    result, parts = doctor(project)
    assert result.status == 1
    problems = {part for part, results in parts.items() for one in results if one["status"] == "problem"}
    assert problems == {"agent", "modules", "runs"}
    assert all(one["help"] for results in parts.values() for one in results if one["status"] != "ok")
    told = wfc("doctor", cwd=project, env=ENV).out
    assert "`wfc compile`" in told


def test_the_doctor_says_that_the_temporal_server_is_not_there(project: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (project / "pyproject.toml").write_text('[tool.wfc]\nengine = "temporal"\n')
    env = {**ENV, "WFC_TEMPORAL_ADDRESS": address}
    result = wfc("doctor", "--json", cwd=project, env=env)
    found = [one for one in json.loads(result.out)["results"] if one["part"] == "temporal"]
    assert found[-1]["status"] == "problem"
    assert address in found[-1]["message"]


EACH = """\
name: each
version: "1.0.0"
steps:
  - {id: all, type: foreach, items: [a, b], task: one}
tasks:
  one:
    inputs: {item: {type: string, required: true}}
    steps:
      - {id: look, type: delegate, instructions: "Look at <item>{{ inputs.item }}</item>."}
"""


def test_the_doctor_counts_runs_as_they_are_listed_without_their_children(project: Path) -> None:
    (project / "workflows" / "each.yaml").write_text(EACH)
    assert wfc("run", "workflows/each.yaml", "--allow-exec", cwd=project).status == 2
    assert len(wfc("runs", "list", cwd=project).out.splitlines()) == 1
    (found,) = (one for one in examine(project) if one.part == "runs")
    assert found.message.endswith("; 1 run in progress")


def test_the_doctor_says_that_the_program_of_the_server_is_not_there(project: Path) -> None:
    (project / ".mcp.json").write_text('{"mcpServers": {"flows": {"command": "/no/wfc", "args": ["serve"]}}}')
    (found,) = (one for one in examine(project) if one.part == "agent")
    assert found.message == "there is no program `/no/wfc` to start (`flows` in .mcp.json)"
    assert "use its full path in .mcp.json" in found.help


def test_the_doctor_stops_at_settings_that_cant_be_read(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.wfc]\nworkflow = 'x'\n")
    result, parts = doctor(project)
    assert result.status == 1
    assert "did you mean `workflows`?" in parts["settings"][0]["message"]


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": 3}}'])
def test_the_doctor_bears_any_mcp_json(project: Path, text: str) -> None:
    (project / ".mcp.json").write_text(text)
    result, parts = doctor(project)
    assert parts["agent"][0]["status"] in ("problem", "note")
    assert "internal error" not in result.err
