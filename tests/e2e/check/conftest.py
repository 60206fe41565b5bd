"""What most of these tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import write

PANEL = """\
name: panel
version: "1.0.0"
# The words are those of the panel.
steps:
  - id: ask
    type: prompt
    prompt_type: choice
    message: Which?
    options: [on, "off"]  # two
"""
MISSPELT = """\
name: misspelt
version: "1.0.0"
steps:
  - id: build
    type: shell
    comand: make
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder without a project around it, whose files are named on the command line."""
    write(tmp_path, clean="", panel=PANEL, misspelt=MISSPELT)
    return tmp_path
