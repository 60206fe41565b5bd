"""The wheel, as a user gets it: installed in a clean environment, away from the clone."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.docs.fences import fences
from wfc_runtime.version import __version__

ROOT = Path(__file__).parents[2]
ENV = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands in a new environment that has the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("env")
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=folder)
    [wheel] = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", "venv/bin/python"]
    # The shipped workflows are in every language, and one of them needs the extra.
    run(*pip, "install", "--quiet", "--no-compile", f"{wheel}[reactive]", cwd=folder)
    return folder / "venv" / "bin"


@pytest.fixture(scope="module")
def project(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one workflow, which the installed wfc has compiled."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text("[tool.wfc]\n")
    (folder / "workflows").mkdir()
    for name in ("deploy-service.yaml", "deploy-service.test.yaml"):
        shutil.copy(ROOT / "workflows" / name, folder / "workflows")
    run(installed / "wfc", "compile", cwd=folder)
    return folder


def test_the_version_comes_from_one_place(built: Path, installed: Path, tmp_path: Path) -> None:
    assert {path.name.split("-")[1].removesuffix(".tar.gz") for path in built.iterdir()} == {__version__}
    assert run(installed / "wfc", "--version", cwd=tmp_path).strip() == f"wfc, version {__version__}"


def test_the_distribution_is_wfc_compiler_and_installs_the_command_and_both_packages(
    built: Path, installed: Path, tmp_path: Path
) -> None:
    assert {path.name.split("-")[0] for path in built.iterdir()} == {"wfc_compiler"}
    ask = (
        "import json; from importlib.metadata import distribution, packages_distributions; "
        "found = distribution('wfc-compiler'); "
        "print(json.dumps([found.name, found.version, found.metadata.get_all('Provides-Extra'), "
        "[(one.name, one.value) for one in found.entry_points], "
        "[packages_distributions()[name] for name in ('wfc', 'wfc_runtime')]]))"
    )
    name, version, extras, commands, owners = json.loads(run(installed / "python", "-c", ask, cwd=tmp_path))
    assert (name, version) == ("wfc-compiler", __version__)
    assert {"lsp", "temporal", "all"} <= set(extras)
    assert commands == [["wfc", "wfc.__main__:main"]]
    assert owners == [["wfc-compiler"], ["wfc-compiler"]]


def test_the_source_package_has_what_its_tests_need(built: Path) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"Makefile", "tests/conftest.py", "demo/run.py", "workflows/deploy-service.yaml"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(".venv")]


def test_the_wheel_checks_compiles_and_draws(installed: Path, tmp_path: Path) -> None:
    project = tmp_path
    (project / "pyproject.toml").write_text("[tool.wfc]\n")
    shutil.copytree(ROOT / "workflows", project / "workflows")
    shutil.copytree(ROOT / ".claude" / "agents", project / ".claude" / "agents")
    assert "all clean" in run(installed / "wfc", "check", cwd=project)
    run(installed / "wfc", "compile", cwd=project)
    committed = {path.name: path.read_text() for path in (ROOT / "generated").glob("*.py")}
    assert {path.name: path.read_text() for path in (project / "generated").glob("*.py")} == committed
    assert "unchanged" in run(installed / "wfc", "compile", "--check", cwd=project)
    assert run(installed / "wfc", "graph", "deploy-service", cwd=project).startswith("flowchart")
    assert "<svg" in run(installed / "wfc", "graph", "deploy-service", "--format", "svg", cwd=project)


def test_the_wheel_has_the_library(installed: Path, tmp_path: Path) -> None:
    assert "review-branch" in run(installed / "wfc", "library", "list", cwd=tmp_path)
    run(installed / "wfc", "library", "add", "audit-security", cwd=tmp_path)
    assert (tmp_path / ".claude" / "agents" / "security-reviewer.md").is_file()
    run(installed / "wfc", "compile", cwd=tmp_path)


def test_the_wheel_serves_the_library_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=str(installed / "wfc"), args=["serve", "--library"], cwd=tmp_path, env=ENV
    )

    async def started() -> str:
        async with Client(stdio_client(server)) as client:
            result = await client.call_tool("start_workflow", {"workflow": "research-question", "inputs": {}})
            listed = await client.call_tool("list_workflows", {})
            return json.dumps([result.model_dump(mode="json"), listed.model_dump(mode="json")])

    said = asyncio.run(started())
    assert "question" in said
    assert "review-branch" in said


def test_the_wheel_runs_a_workflow_to_its_end(installed: Path, project: Path) -> None:
    script, _, _ = (project / "workflows/deploy-service.test.yaml").read_text("utf-8").partition("\ntests:")
    (project / "answers.yaml").write_text(script, encoding="utf-8")
    shown = run(
        installed / "wfc", "run", "deploy-service", "--answers", "answers.yaml", "--json", cwd=project
    )
    assert json.loads(shown)["result"]["status"] == "deployed"
    listed = json.loads(run(installed / "wfc", "runs", "list", "--status", "all", "--json", cwd=project))
    assert [one["status"] for one in listed["runs"]] == ["completed"]


def test_the_wheel_serves(installed: Path, project: Path) -> None:
    server = StdioServerParameters(command=str(installed / "wfc"), args=["serve"], cwd=project, env=ENV)

    async def listed() -> str:
        async with Client(stdio_client(server)) as client:
            result = await client.call_tool("list_workflows", {"query": "deploy"})
            return json.dumps(result.model_dump(mode="json"))

    assert "deploy-service" in asyncio.run(listed())


def test_the_wheel_is_typed_for_its_users(installed: Path, project: Path) -> None:
    (project / "use.py").write_text(
        "from generated.deploy_service import DeployService, Inputs\nInputs(service_name=3)\n"
    )
    packages = run(
        installed / "python", "-c", "import wfc, os; print(os.path.dirname(wfc.__path__[0]))", cwd=project
    )
    site = Path(packages.strip())
    assert (site / "wfc" / "py.typed").is_file()
    assert (site / "wfc_runtime" / "py.typed").is_file()
    checker = [sys.executable, "-m", "mypy", "--python-executable", str(installed / "python"), "use.py"]
    done = subprocess.run(checker, cwd=project, env=ENV, capture_output=True, text=True, check=False)
    assert 'Argument "service_name" to "Inputs" has incompatible type "int"; expected "str"' in done.stdout


def test_a_block_type_from_a_wheel_works_in_a_clean_environment(installed: Path, tmp_path: Path) -> None:
    """The worked example of docs/own-blocks.md, built and installed as a user would."""
    settings, module, project_settings, workflow = (
        fence.text for fence in fences(ROOT / "docs" / "own-blocks.md")
    )
    source, project = tmp_path / "source", tmp_path / "project"
    source.mkdir()
    (source / "pyproject.toml").write_text(settings, encoding="utf-8")
    (source / "slug_blocks.py").write_text(module, encoding="utf-8")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, source, cwd=tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", installed / "python"]
    run(*pip, "install", "--quiet", "--no-compile", "--no-deps", wheel, cwd=tmp_path)
    try:
        (project / "workflows").mkdir(parents=True)
        (project / "pyproject.toml").write_text(project_settings, encoding="utf-8")
        (project / "workflows" / "publish.yaml").write_text(workflow, encoding="utf-8")
        assert "all clean" in run(installed / "wfc", "check", cwd=project)
        run(installed / "wfc", "compile", cwd=project)
        said = run(
            installed / "wfc",
            "run",
            "publish",
            "--allow-exec",
            "--allow-block",
            "Slug",
            "--json",
            cwd=project,
        )
        assert json.loads(said)["result"] == {"slug": "hello-world", "words": 2}
    finally:
        run(*pip, "uninstall", "--quiet", "--yes", "slug-blocks", cwd=tmp_path)
