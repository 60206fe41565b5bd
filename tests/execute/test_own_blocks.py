"""Own block types: found by the name of an entry point, run by grant, in a process that ends with the step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import wfc
from tests.own_blocks import installed_from
from tests.support import wait_until
from wfc_runtime.execute import Grant, can_execute, execute

SETTINGS = """
[project]
name = "test-blocks"
version = "1"
[project.entry-points."wfc.blocks"]
Double = "wfc_test_blocks:Double"
Slow = "wfc_test_blocks:Slow"
Wrong = "wfc_test_blocks:Wrong"
Crash = "wfc_test_blocks:Crash"
NoModels = "wfc_test_blocks:NoModels"
Absent = "wfc_test_blocks:Absent"
Shell = "wfc_test_blocks:Double"
"""
MODULE = """
import asyncio, os, subprocess, sys
from pydantic import BaseModel, Field

class Numbers(BaseModel):
    model_config = {"extra": "forbid"}
    number: int
    names: list[str] = []
    more: dict[str, int] | None = None

class Doubled(BaseModel):
    number: int
    said: str | None = None
    seen: list[str] = []

class Double:
    '''Doubles a number.

    And more.
    '''
    input_type, output_type = Numbers, Doubled

    async def execute(self, inputs):
        print("this is not the answer")
        os.write(1, b"nor is this")
        await asyncio.sleep(0)
        return Doubled(number=inputs.number * 2, said=os.environ.get("WFC_TEST_SEEN"), seen=sorted(os.environ))

class Slow:
    input_type, output_type = Numbers, Doubled
    def execute(self, inputs):
        child = subprocess.Popen(["sleep", "600"])
        open(f"{inputs.names[0]}/pid", "w").write(str(child.pid))
        child.wait()

class Wrong:
    input_type, output_type = Numbers, Doubled
    def execute(self, inputs):
        return {"number": "many"}

class Crash:
    input_type, output_type = Numbers, Doubled
    def execute(self, inputs):
        raise RuntimeError(f"no {inputs.number}")

class NoModels:
    def execute(self, inputs): ...
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = installed_from(SETTINGS, MODULE, tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def block(folder: Path, name: str, *granted: str, env: tuple[str, ...] = (), **inputs: Any) -> dict[str, Any]:
    parameters = {"block": name, "inputs": inputs, "timeout": 20}
    grant = Grant(folder, blocks=granted or (name,), env=("PYTHONPATH", *env))
    return execute({"type": "run_block", "parameters": parameters}, grant)


def test_a_block_type_gets_its_inputs_and_returns_its_outputs(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WFC_TEST_SEEN", "seen")
    found = block(tmp_path, "Double", number=21, names=["a"], more={"b": 1})
    assert (found["number"], found["said"]) == (42, None)
    assert "WFC_TEST_SEEN" not in found["seen"]
    assert block(tmp_path, "Double", env=("WFC_TEST_SEEN",), number="4")["said"] == "seen"


@pytest.mark.parametrize(
    ("name", "inputs", "why"),
    [
        ("Double", {"number": "many-secret"}, "number"),
        ("Double", {}, "number"),
        ("Double", {"number": 1, "other": 2}, "other"),
        ("Wrong", {"number": 1}, "number"),
        ("Crash", {"number": 7}, "RuntimeError: no 7"),
        ("NoModels", {}, "pydantic"),
        ("Absent", {}, "can't be imported"),
        ("Missing", {}, "no installed distribution"),
        ("wfc_test_blocks:Double", {}, "not the name"),
        ("../evil", {}, "not the name"),
        ("os.system", {}, "not the name"),
    ],
)
def test_a_block_that_can_not_be_run_says_why(
    site: Path, tmp_path: Path, name: str, inputs: dict[str, Any], why: str
) -> None:
    error = block(tmp_path, name, **inputs)["error"]
    assert why in error["message"]
    assert "many-secret" not in error["message"]


def test_only_a_granted_type_is_run_and_any_command_is_no_grant_for_it(tmp_path: Path) -> None:
    action = {"type": "run_block", "parameters": {"block": "Double", "inputs": {}}}
    for grant in (Grant.all_commands(tmp_path), Grant(tmp_path, blocks=("Other", "double", "Doubl*"))):
        assert not can_execute(action, grant)
        assert execute(action, grant)["error"]["code"] == "refused"


def test_a_module_in_the_folder_of_the_project_is_not_imported(site: Path, tmp_path: Path) -> None:
    evil = f"open({str(tmp_path / 'executed')!r}, 'w')\n"
    for name in ("wfc_test_blocks.py", "pydantic.py", "json.py"):
        (tmp_path / name).write_text(evil, encoding="utf-8")
    assert block(tmp_path, "Double", number=1)["number"] == 2
    assert not (tmp_path / "executed").exists()


def test_a_block_that_takes_too_long_is_ended_with_what_it_started(site: Path, tmp_path: Path) -> None:
    parameters = {"block": "Slow", "inputs": {"number": 1, "names": [str(tmp_path)]}, "timeout": 3}
    grant = Grant(tmp_path, blocks=("Slow",), env=("PYTHONPATH",))
    found = execute({"type": "run_block", "parameters": parameters}, grant)
    assert found["error"]["code"] == "timeout"
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))


FILE = """
name: numbers
description: Double a number.
inputs:
  number: {type: int, default: 4}
blocks:
  - {id: double, type: Double, inputs: {number: "{{inputs.number}}", names: [a]}}
  - {id: twice, type: Double, inputs: {number: "{{blocks.double.number}}"}, depends_on: [double]}
outputs:
  number: "{{blocks.twice.number}}"
"""


@pytest.fixture
def project(site: Path, tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nplugins = ["Double"]\n', encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "numbers.yaml").write_text(FILE, encoding="utf-8")
    return tmp_path


def test_check_schema_and_run_know_a_listed_type(site: Path, project: Path) -> None:
    env = {"PYTHONPATH": str(site)}
    assert "all clean" in wfc("check", cwd=project, env=env).out
    schema = json.loads(wfc("schema", "blocks", cwd=project, env=env).out)
    assert "Double" in schema["definitions"]["Block"]["properties"]["type"]["enum"]
    assert schema["definitions"]["inputs_Double"]["required"] == ["number"]
    asked = wfc("run", "workflows/numbers.yaml", "--allow-exec", "--json", cwd=project, env=env, stdin="")
    action = json.loads(asked.out)["action"]
    assert (action["type"], action["parameters"]["about"]) == ("run_block", "Doubles a number.")
    assert action["result_schema"]["properties"]["number"] == {"type": "integer"}
    options = ["--allow-block", "Double", "--exec-env", "PYTHONPATH", "--json"]
    done = wfc("run", "workflows/numbers.yaml", *options, cwd=project, env=env)
    assert json.loads(done.out)["result"] == {"number": 16}
    wrong = FILE.replace("names: [a]", "name: a").replace("blocks.double.number", "blocks.double.numbr")
    (project / "workflows" / "numbers.yaml").write_text(wrong, encoding="utf-8")
    found = wfc("check", cwd=project, env=env).out
    assert "WF004" in found
    assert "WF206" in found


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ('["wfc_test_blocks:Double"]', "no path and no module"),
        ('["./evil.py"]', "no path and no module"),
        ('["Double", "Double"]', "each once"),
        ('["Missing"]', "no installed distribution"),
        ('["Shell"]', "a block type of the language"),
        ('["NoModels"]', "pydantic"),
    ],
)
def test_settings_name_installed_types_and_nothing_else(
    site: Path, project: Path, setting: str, why: str
) -> None:
    (project / "pyproject.toml").write_text(f"[tool.wfc]\nplugins = {setting}\n", encoding="utf-8")
    found = wfc("check", cwd=project, env={"PYTHONPATH": str(site)})
    assert found.status == 2, found
    assert why in found.err


def test_a_type_that_is_installed_but_not_listed_is_unknown(site: Path, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    found = wfc("check", cwd=project, env={"PYTHONPATH": str(site)})
    assert "there is no block type `Double`" in found.out
    served = wfc("serve", "--allow-block", "Missing", cwd=project, env={"PYTHONPATH": str(site)})
    assert (served.status, "no installed distribution" in served.err) == (2, True)
