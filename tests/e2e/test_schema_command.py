"""`wfc schema`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.command import wfc


def test_the_schema_is_printed_or_written_and_left_alone_when_it_is_there(tmp_path: Path) -> None:
    printed = wfc("schema", cwd=tmp_path)
    assert printed.status == 0
    assert json.loads(printed.out)["required"] == ["steps", "name", "version"]
    target = tmp_path / "editor" / "wfc.schema.json"
    assert wfc("schema", "-o", target, cwd=tmp_path).status == 0
    assert target.read_text(encoding="utf-8") == printed.out
    before = target.stat().st_mtime_ns
    assert wfc("schema", "steps", "-o", target, cwd=tmp_path).status == 0
    assert target.stat().st_mtime_ns == before


def test_an_unknown_language_or_an_impossible_file_is_said_so(tmp_path: Path) -> None:
    unknown = wfc("schema", "yaml", cwd=tmp_path)
    assert (unknown.status, "'steps'" in unknown.err) == (2, True)
    (tmp_path / "file").write_text("")
    impossible = wfc("schema", "-o", tmp_path / "file" / "x.json", cwd=tmp_path)
    assert impossible.status == 2
    assert "can't write" in impossible.err
