"""Workflows that are right though they look odd: no rule that `rules.txt` lists may find anything in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import SETTLED, found_by
from wfc.config import Config
from wfc.findings import Severity
from wfc.project import Project, load_file

FILES = sorted(Path(__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_found_in_what_is_right(file: Path) -> None:
    config = Config(file.parent)
    project = Project(config)
    load_file(file.name, file.read_bytes(), config, project)
    found = [item for item in found_by(SETTLED, project) if item.severity is not Severity.INFO]
    assert [f"{item.span.line}: {item.code} {item.message}" for item in found] == []
