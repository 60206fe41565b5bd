from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.support import Box, TemporalBox


@pytest.fixture
def file_box(tmp_path: Path) -> Iterator[Box]:
    """A project on SQLite: for tests of what is in the file."""
    made = Box(tmp_path)
    yield made
    made.close()


@pytest.fixture
def temporal_box(tmp_path: Path, temporal_address: str) -> Iterator[TemporalBox]:
    """A project on Temporal: for tests of what is Temporal's own."""
    made = TemporalBox(tmp_path, temporal_address)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", pytest.param("temporal", marks=pytest.mark.slow)])
def box(request: pytest.FixtureRequest) -> Box:
    """A project on either engine: what holds on one holds on the other."""
    found: Box = request.getfixturevalue("file_box" if request.param == "sqlite" else "temporal_box")
    return found
