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


@pytest.mark.parametrize(
    "given",
    [
        {"path": "out/kept.txt"},
        {"path": "a.txt/../../kept.txt"},
        {"path": ".git/config"},
        {"path": ".git/hooks/pre-commit", "create_if_missing": True},
        {"path": ".wfc/state.db"},
        {"path": "a.txt\0.md"},
        {"path": ""},
        {"path": "a.txt", "encoding": "zlib"},
        {"path": "a.txt", "encoding": "no-such"},
        {"path": "binary.txt"},
        {"path": "pipe.txt"},
        {"path": "linked.txt"},
        {"path": "new/deep/../../../kept2.txt", "create_if_missing": True},
    ],
)
def test_no_path_or_encoding_edits_what_is_not_a_text_file_of_the_folder(
    given: dict[str, object], tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    for name in ("inner/.git", "outside", "inner/.wfc"):
        (tmp_path / name).mkdir(parents=True)
    for path in (
        tmp_path / "kept.txt",
        tmp_path / "outside" / "kept.txt",
        inner / "a.txt",
        inner / ".git" / "config",
    ):
        path.write_text(TEXT, encoding="utf-8")
    (inner / "binary.txt").write_bytes(b"one\xff\x00")
    os.mkfifo(inner / "pipe.txt")
    (inner / "out").symlink_to(tmp_path / "outside")
    (inner / "linked.txt").write_text(TEXT, encoding="utf-8")
    # The backup of an edit must not be written through a link either.
    (inner / "linked.txt.bak").symlink_to(tmp_path / "kept.txt")
    change = {"type": "replace_text", "old_text": "one", "new_text": "1"}
    if given.get("create_if_missing"):
        change = {"type": "insert_lines", "line_start": 1, "content": "x"}
    if given["path"] == "linked.txt":
        (tmp_path / "kept.txt").write_text("kept", encoding="utf-8")
    before = {path: path.read_text("utf-8") for path in tmp_path.rglob("kept*.txt")}
    done = edit(inner, change, **given)
    assert {path: path.read_text("utf-8") for path in tmp_path.rglob("kept*.txt")} == before
    if given["path"] != "linked.txt":
        assert set(done) == {"error"}, done
    assert (inner / ".git" / "config").read_text("utf-8") == TEXT
    assert not (inner / ".git" / "hooks").exists()


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


@pytest.mark.parametrize(
    "pattern", ["*a" * 14 + "*b", "**/" * 20 + "*a" * 14 + "b", "**a" * 14 + "b", "?*" * 60 + "b"]
)
def test_a_pattern_of_files_does_not_backtrack(pattern: str, folder: Path) -> None:
    (folder / ("a" * 200)).write_text("x", encoding="utf-8")
    assert read(folder, patterns=[pattern])["total_files"] == 0
    (folder / ".gitignore").write_text(f"{pattern}\n", encoding="utf-8")
    assert read(folder, patterns=["a.txt"])["total_files"] == 1


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**", ["a.txt", "b.py", "sub/c.py", "sub/sub/d.py"]),
        ("**/*.py", ["b.py", "sub/c.py", "sub/sub/d.py"]),
        ("**.py", ["b.py", "sub/c.py", "sub/sub/d.py"]),
        ("./sub/*.py", ["sub/c.py"]),
        ("sub/**", ["sub/c.py", "sub/sub/d.py"]),
        ("**/sub/*", ["sub/c.py", "sub/sub/d.py"]),
        ("?.py", ["b.py"]),
        ("[ab].*", []),
    ],
)
def test_a_pattern_matches_within_a_name_or_across_folders(
    pattern: str, found: list[str], folder: Path
) -> None:
    (folder / "sub" / "sub").mkdir(parents=True)
    for name in ("b.py", "sub/c.py", "sub/sub/d.py"):
        (folder / name).write_text("x", encoding="utf-8")
    assert sorted(one["path"] for one in read(folder, patterns=[pattern])["files"]) == found


def test_a_gitignore_that_is_a_pipe_or_a_device_is_left_out(folder: Path) -> None:
    ignore = folder / ".gitignore"
    os.mkfifo(ignore)
    assert read(folder, patterns=["a.txt"])["total_files"] == 1
    ignore.unlink()
    ignore.symlink_to("/dev/zero")
    assert read(folder, patterns=["a.txt"])["total_files"] == 1


def test_an_edit_of_every_other_line_of_a_long_file_ends_and_its_diff_is_cut(folder: Path) -> None:
    lines = "".join(f"{'key' if at % 2 else 'other'} {at}\n" for at in range(20_000))
    (folder / "a.txt").write_text(lines, encoding="utf-8")
    done = edit(folder, {"type": "replace_text", "old_text": "key", "new_text": "KEY"})
    assert done["diff"].endswith(" more lines"), done
    assert (folder / "a.txt").read_text(encoding="utf-8") == lines.replace("key", "KEY")
    # A few changes in a long file still give a short diff.
    few = edit(folder, {"type": "replace_text", "old_text": "KEY 10001\n", "new_text": ""})
    assert (few["lines_added"], few["lines_removed"], few["diff"].count("\n")) == (0, 1, 9)


@pytest.mark.parametrize(
    "operations",
    [
        [{"type": "insert_lines", "line_start": 1, "content": "x" * 90_000}] * 100,
        [{"type": "replace_lines", "line_start": 1, "content": "x\n" * 90_000}] * 100,
        [{"type": "replace_text", "old_text": "o", "new_text": "oo"}] * 100,
        [{"type": "patch", "patch": "@@ -" + "9" * 5_000 + " +1 @@\n-x"}],
    ],
)
def test_operations_can_not_make_a_text_beyond_the_limit(operations: list[object], folder: Path) -> None:
    found = edit(folder, *operations, grant=Grant(folder, commands=None, file_bytes=1_000_000))
    assert set(found) == {"error"}
    assert (folder / "a.txt").read_text(encoding="utf-8") == TEXT
