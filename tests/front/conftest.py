"""A project with two small workflows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import load
from wfc.compiler import compile_project

WORK = """
name: work
version: 1.0.0
steps:
  - {id: build, type: shell, command: make, output_to: built}
"""
ASK = """
name: ask
version: 1.0.0
steps:
  - {id: one, type: prompt, message: Continue?, prompt_type: confirm}
  - {id: two, type: prompt, message: Continue?, prompt_type: confirm}
"""


def write_modules(folder: Path, *texts: str) -> None:
    project = load(*texts)
    generated = folder / "generated"
    generated.mkdir(exist_ok=True)
    for module in compile_project(project, {file: file.source.path for file in project.files}).modules:
        fresh = generated / f"{module.file_name}.new"
        fresh.write_text(module.text, encoding="utf-8")
        fresh.replace(generated / module.file_name)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    write_modules(folder, WORK, ASK)
    return folder
