"""`wfc convert`: what comes out has no finding of a kind that the graph of blocks did not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import ROOT, load
from wfc.checker import check_file
from wfc.cli.convert import to_steps
from wfc.findings import Severity
from wfc.project import SourceFile


def _codes(file: SourceFile) -> set[str]:
    return {found.code for found in check_file(file) if found.severity is not Severity.INFO}


def _graphs() -> list[Path]:
    """Every graph of blocks in this repository that has no error."""
    paths = [
        *(ROOT / "workflows").glob("*.yaml"),
        *(ROOT / "tests" / "blocks" / "cases").glob("*.yaml"),
        *(ROOT / "tests" / "parity" / "cases").glob("*.blocks.yaml"),
        *(ROOT / "tests" / "errors").glob("*/*blocks*.yaml"),
    ]
    files = {path: load(path.read_text(encoding="utf-8")).files[0] for path in sorted(paths)}
    return [
        path
        for path, file in files.items()
        if file.workflow is not None
        and file.is_translated
        and not any(found.severity is Severity.ERROR for found in check_file(file))
    ]


@pytest.mark.parametrize("path", _graphs(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_steps_made_of_blocks_check_clean_when_the_blocks_do(path: Path) -> None:
    graph = load(path.read_text(encoding="utf-8")).files[0]
    steps = load(to_steps(graph)).files[0]
    assert _codes(steps) - _codes(graph) == set()
