"""`edit_file` and `read_files`: what they do, and what they refuse."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from wfc_runtime.execute import Grant, execute, refusal_of

TEXT = "one\ntwo\nthree\n"


def edit(
    folder: Path, *operations: object, grant: Grant | None = None, path: str = "a.txt", **more: object
) -> Any:
    action = {"type": "edit_file", "parameters": {"path": path, "operations": list(operations), **more}}
    return execute(action, grant or Grant(folder, commands=None))


def read(folder: Path, grant: Grant | None = None, **parameters: object) -> Any:
    return execute({"type": "read_files", "parameters": parameters}, grant or Grant(folder, commands=None))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"type": "replace_text", "old_text": "two", "new_text": "2"}, "one\n2\nthree\n"),
        ({"type": "replace_text", "old_text": "e", "new_text": "E", "count": 1}, "onE\ntwo\nthree\n"),
        ({"type": "replace_lines", "line_start": 1, "line_end": 2, "content": "x"}, "x\nthree\n"),
        ({"type": "insert_lines", "line_start": 1, "content": "zero\n"}, "zero\none\ntwo\nthree\n"),
        ({"type": "insert_lines", "line_start": 4, "content": "four"}, "one\ntwo\nthree\nfour\n"),
        ({"type": "delete_lines", "line_start": 2, "line_end": 3}, "one\n"),
        ({"type": "delete_lines", "line_start": 2}, "one\nthree\n"),
        ({"type": "regex_replace", "pattern": "t(w|h)", "replacement": "[\\1]"}, "one\n[w]o\n[h]ree\n"),
        ({"type": "patch", "patch": "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}, "one\n2\nthree\n"),
    ],
)
def test_an_operation_changes_the_file_and_keeps_a_backup(
    operation: dict[str, object], expected: str, folder: Path
) -> None:
    done = edit(folder, operation)
    assert "error" not in done, done
    assert (folder / "a.txt").read_text(encoding="utf-8") == expected
    assert (folder / "a.txt.bak").read_text(encoding="utf-8") == TEXT
    assert done["operations_applied"] == 1
    assert done["lines_added"] - done["lines_removed"] == expected.count("\n") - 3
    assert done["diff"].startswith("--- before\n+++ after\n")


@pytest.mark.parametrize(
    "operation",
    [
        {"type": "replace_text", "old_text": "nope", "new_text": "x"},
        {"type": "replace_text", "old_text": "", "new_text": "x"},
        {"type": "delete_lines", "line_start": 0, "line_end": 1},
        {"type": "delete_lines", "line_start": 3, "line_end": 2},
        {"type": "delete_lines", "line_start": 1, "line_end": 9},
        {"type": "insert_lines", "line_start": 9, "content": "x"},
        {"type": "insert_lines", "content": "x"},
        {"type": "regex_replace", "pattern": "(", "replacement": ""},
        {"type": "regex_replace", "pattern": "o", "flags": ["IGNORECASE"]},
        {"type": "patch", "patch": "@@ -1 +1 @@\n-two\n+2\n"},
        {"type": "patch", "patch": "@@ -9 +9 @@\n-two\n"},
        {"type": "patch", "patch": "no hunk"},
        {"type": "rm"},
        {"old_text": "one"},
        "replace",
    ],
)
def test_an_operation_that_fails_undoes_those_before_it(operation: object, folder: Path) -> None:
    first = {"type": "replace_text", "old_text": "one", "new_text": "1"}
    assert "error" in edit(folder, first, operation)
    assert (folder / "a.txt").read_text(encoding="utf-8") == TEXT
    assert not (folder / "a.txt.bak").exists()
    done = edit(folder, first, operation, atomic=False, backup=False)
    assert (done["operations_applied"], len(done["errors"])) == (1, 1)
    assert (folder / "a.txt").read_text(encoding="utf-8") == TEXT.replace("one", "1")


def test_a_dry_run_changes_nothing_and_a_missing_file_can_be_made(folder: Path) -> None:
    change = {"type": "replace_text", "old_text": "one", "new_text": "1"}
    assert "+1" in edit(folder, change, dry_run=True)["diff"]
    assert (folder / "a.txt").read_text(encoding="utf-8") == TEXT
    assert edit(folder, change, path="b.txt")["error"]["message"].endswith("b.txt")
    insert = {"type": "insert_lines", "line_start": 1, "content": "new"}
    assert edit(folder, insert, path="b.txt", create_if_missing=True)["backup_path"] is None
    assert (folder / "b.txt").read_text(encoding="utf-8") == "new\n"


def test_a_slow_pattern_and_a_large_result_are_stopped(folder: Path) -> None:
    (folder / "a.txt").write_text("a" * 50_000 + "b", encoding="utf-8")
    slow = {"type": "regex_replace", "pattern": "(a+)+$", "replacement": ""}
    assert edit(folder, slow)["lines_removed"] == 0
    bombs = [{"type": "replace_text", "old_text": "a", "new_text": "a" * 1000}] * 3
    assert "error" in edit(folder, *bombs)


@pytest.mark.parametrize("path", ["../out.txt", "/etc/passwd", "link.txt", "sub/../../out.txt", "."])
def test_nothing_outside_the_folder_is_edited_or_read(path: str, folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (folder / "out.txt").write_text(TEXT, encoding="utf-8")
    os.symlink(folder / "out.txt", inner / "link.txt")
    change = {"type": "replace_text", "old_text": "one", "new_text": "1"}
    assert "error" in edit(inner, change, path=path)
    assert "error" in read(inner, path=path)
    assert (folder / "out.txt").read_text(encoding="utf-8") == TEXT


def test_the_files_that_match_are_read_in_order_and_links_are_not(folder: Path) -> None:
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "sub" / "b.txt").write_text("b\n", encoding="utf-8")
    (folder / "sub" / "deep" / "c.txt").write_text("c", encoding="utf-8")
    (folder / "sub" / "bin.txt").write_bytes(b"\0\1")
    (folder / "sub" / "big.txt").write_text("x" * 5000, encoding="utf-8")
    os.symlink("/etc/passwd", folder / "sub" / "p.txt")
    os.symlink("/etc", folder / "sub" / "etc")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.txt").write_text("no", encoding="utf-8")
    done = read(folder, patterns=["**/*.txt"], max_file_size_kb=1)
    assert [one["path"] for one in done["files"]] == ["a.txt", "sub/b.txt", "sub/deep/c.txt"]
    assert sorted(one["path"] for one in done["skipped_files"]) == ["sub/big.txt", "sub/bin.txt", "sub/p.txt"]
    assert done["content"].startswith("files:\n- path: a.txt\n  content: |\n    one\n    two\n")
    assert read(folder, patterns=["*.txt"])["content"] == TEXT
    assert read(folder, patterns=["**/*.txt"], exclude_patterns=["sub"])["total_files"] == 1
    assert read(folder, patterns=["**/*"], max_files=1)["total_files"] == 1
    assert read(folder, path="a.txt", line_start=2, line_end=2)["content"] == "two\n"
    (folder / ".gitignore").write_text("# x\nsub/\n", encoding="utf-8")
    assert read(folder, patterns=["**/*.txt"])["total_files"] == 1
    assert read(folder, patterns=["**/*.txt"], respect_gitignore=False)["total_files"] == 4


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"patterns": ["../*"]},
        {"patterns": ["/etc/*"]},
        {"patterns": "*.txt"},
        {"patterns": ["*"], "base_path": ".."},
        {"patterns": ["*"], "base_path": "/etc"},
        {"patterns": ["*"], "base_path": "none"},
        {"patterns": ["*"], "encoding": "zlib"},
        {"patterns": ["*"], "max_files": -1},
    ],
)
def test_a_search_that_leads_out_of_the_folder_is_refused(
    parameters: dict[str, object], folder: Path
) -> None:
    assert "error" in read(folder, **parameters)


def test_without_a_grant_for_files_the_agent_gets_the_action(folder: Path) -> None:
    grant = Grant(root=folder, commands=("make",))
    for kind in ("edit_file", "read_files"):
        assert "may not read files" in refusal_of(
            {"type": kind, "parameters": {"path": "a.txt", "operations": []}}, grant
        )


def test_a_pattern_of_the_operator_decides_for_each_file(folder: Path) -> None:
    (folder / "b.md").write_text("b", encoding="utf-8")
    grant = Grant(folder, read=("*.md",))
    done = read(folder, grant, patterns=["*"])
    assert [one["path"] for one in done["files"]] == ["b.md"]
    assert "--allow-read" in done["skipped_files"][0]["reason"]
    change = {"type": "replace_text", "old_text": "b", "new_text": "c"}
    only_read = Grant(folder, read=("*",))
    assert "error" in edit(folder, change, grant=only_read, path="b.md")
    without_backup = Grant(folder, read=("*",), write=("b.md",))
    assert "error" in edit(folder, change, grant=without_backup, path="b.md")
    assert (folder / "b.md").read_text(encoding="utf-8") == "b"
    assert "error" not in edit(folder, change, grant=without_backup, path="b.md", backup=False)
