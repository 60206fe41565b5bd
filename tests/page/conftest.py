from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.support import Page, serving
from tests.runtime.support import Box, steps

ASK = steps(
    "{id: build, type: shell, command: make, output_to: built}",
    "{id: agree, type: prompt, prompt_type: confirm, message: 'Ship it?', output_to: go}",
    "{id: done, type: return, needs_state: [go], value: '{{ state.go.confirmed }}'}",
    name="asks",
)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A project with one workflow, shared by tests that start runs of their own."""
    folder: Path = tmp_path_factory.mktemp("page")
    (folder / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    box = Box(folder).compile(ASK)
    yield box
    box.close()


@pytest.fixture(scope="session")
def page(project: Box) -> Iterator[Page]:
    with serving(project.root) as found:
        yield found


@pytest.fixture(scope="session")
def read_only(project: Box) -> Iterator[Page]:
    with serving(project.root, "--read-only") as found:
        yield found
