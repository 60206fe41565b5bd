"""Formatters, linters and isort leave generated modules alone, whatever the settings of the project are."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE, ROOT

FOREIGN = """\
[tool.ruff]
line-length = 60
indent-width = 2
lint.select = ["ALL"]
# This one is about the comment that switches the others off.
lint.ignore = ["PGH004"]
lint.isort.force-single-line = true
lint.isort.from-first = true
format.quote-style = "single"
format.indent-style = "tab"
format.skip-magic-trailing-comma = true

[tool.isort]
force_single_line = true
reverse_sort = true
line_length = 60
add_imports = ["from __future__ import annotations"]

[tool.black]
line-length = 40
skip-magic-trailing-comma = true
"""
TOOLS = {
    "ruff check": ["ruff", "check", "--fix", "--unsafe-fixes", "--no-cache", "."],
    "ruff format": ["ruff", "format", "--no-cache", "."],
    "isort": ["isort", "--quiet", "."],
    "black": ["black", "--quiet", "."],
}
MESSY = "import sys\nimport os\nx   = [\n 'a',]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(FOREIGN)
    shutil.copytree(ROOT / "generated", tmp_path / "generated", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "messy.py").write_text(MESSY)
    return tmp_path


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_with_foreign_settings_changes_and_reports_nothing(folder: Path, tool: str) -> None:
    name, *words = TOOLS[tool]
    pytest.importorskip(name, reason="pip install -e '.[dev]'")
    before = {path.name: path.read_bytes() for path in (folder / "generated").iterdir()}
    done = subprocess.run(
        [sys.executable, "-m", name, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert {path.name: path.read_bytes() for path in (folder / "generated").iterdir()} == before
    assert "generated" not in done.stdout + done.stderr
    assert (folder / "messy.py").read_text() != MESSY, "the tool ran"
