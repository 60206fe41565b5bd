"""A project with a few small workflows, and one server per protocol era for tests that may share it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.server.driver import ERAS, Agent, Place
from wfc.checker import has_errors
from wfc.compiler import compile_project
from wfc.config import Config
from wfc.project import Project, load_file

WORKFLOWS = Path(__file__).parent / "workflows"


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="session")
def modules() -> dict[str, str]:
    """The compiled workflows of these tests, by file name."""
    project = Project(Config(Path(".")))
    for path in sorted(WORKFLOWS.glob("*.yaml")):
        load_file(f"workflows/{path.name}", path.read_bytes(), project.config, project)
    compilation = compile_project(project, {file: file.source.path for file in project.files})
    assert not has_errors(compilation.findings)
    return {name: text for module in compilation.modules for name, text in module.files.items()}


def make_place(folder: Path, portal: BlockingPortal, modules: dict[str, str]) -> Place:
    generated = folder / "generated"
    generated.mkdir()
    (folder / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    for name, text in modules.items():
        (generated / name).write_text(text, encoding="utf-8")
    return Place(folder, portal)


@pytest.fixture
def place(tmp_path: Path, portal: BlockingPortal, modules: dict[str, str]) -> Place:
    """A project of a test's own."""
    return make_place(tmp_path, portal, modules)


@pytest.fixture(scope="session", params=list(ERAS.values()), ids=list(ERAS))
def agent(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    portal: BlockingPortal,
    modules: dict[str, str],
) -> Iterator[Agent]:
    """A server with every toolset, shared by all tests that ask for it; each of them starts runs of its own."""
    place = make_place(tmp_path_factory.mktemp("shared"), portal, modules)
    with place.server("--toolsets", "core,debug,author", mode=request.param) as agent:
        yield agent
