"""Workflows that are right though they look odd: nothing may be found in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from wfc.check import check_project
from wfc.config import Config
from wfc.findings import Severity
from wfc.project import Project, load_unit

FILES = sorted(Path(__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_found_in_what_is_right(file: Path) -> None:
    config = Config(file.parent)
    project = Project(config)
    load_unit(file.name, file.read_bytes(), config, project)
    found = [item for item in check_project(project) if item.severity is not Severity.INFO]
    assert [f"{item.span.line}: {item.code} {item.message}" for item in found] == []
