"""Declared outputs of commands, and the scratch folder."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from tests.execute.conftest import Execute
from wfc_runtime.execute import Grant


def declared(path: str, **more: Any) -> dict[str, Any]:
    return {"x": {"type": "str", "path": path, **more}}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("str", "  hello \n", "hello"),
        ("string", "7", "7"),
        ("int", "42\n", 42),
        ("integer", "-1", -1),
        ("float", "2.50", 2.5),
        ("number", "3", 3),
        ("num", "3", 3),
        ("num", "3.5", 3.5),
        ("bool", "YES", True),
        ("boolean", "0", False),
        ("json", '{"a": [1]}', {"a": [1]}),
        ("dict", "{}", {}),
        ("list", "[1, 2]", [1, 2]),
    ],
)
def test_a_declared_output_is_read_as_its_type(
    sh: Execute, root: Path, kind: str, text: str, value: Any
) -> None:
    (root / "f").write_text(text)
    assert sh("true", outputs=declared("f", type=kind))["outputs"]["x"] == value


def test_a_whole_number_may_be_longer_than_any_float(sh: Execute, root: Path) -> None:
    (root / "f").write_text("9" * 400)
    assert sh("true", outputs=declared("f", type="int"))["outputs"]["x"] == int("9" * 400)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int", "4.5"),
        ("float", "x"),
        ("float", "nan"),
        ("number", "1e999"),
        ("float", "9" * 400),
        ("int", "9" * 5000),
        ("bool", "maybe"),
        ("json", "{"),
        ("json", "NaN"),
        ("list", "{}"),
        ("odd", "x"),
    ],
)
def test_a_file_that_is_not_of_its_type_is_a_crash(sh: Execute, root: Path, kind: str, text: str) -> None:
    (root / "f").write_text(text)
    error = sh("true", outputs=declared("f", type=kind))["error"]
    assert error["code"] == "output_invalid"
    assert "`x`" in error["message"]
    assert "literal" not in error["message"]


def test_a_required_output_that_is_missing_is_a_crash_and_an_optional_one_is_null(sh: Execute) -> None:
    assert sh("true", outputs=declared("f"))["error"]["code"] == "output_missing"
    failed = sh("exit 3", outputs=declared("f"))["error"]
    assert failed["message"] == "output `x`: there is no file f; the command failed with exit code 3"
    result = sh("true", outputs=declared("f", required=False))
    assert result["outputs"]["x"] is None
    assert result["exit_code"] == 0


@pytest.mark.parametrize(
    "path", ["../outside/secret.txt", "link", "folder/../../outside/secret.txt", "through/secret.txt"]
)
def test_a_declared_output_stays_in_the_working_directory(sh: Execute, root: Path, path: str) -> None:
    (root / "folder").mkdir()
    (root / "link").symlink_to(root.parent / "outside" / "secret.txt")
    (root / "through").symlink_to(root.parent / "outside")
    for unsafe in (False, True):
        assert sh("true", outputs=declared(path, unsafe=unsafe))["error"]["code"] == "refused"


def test_an_absolute_output_needs_unsafe_and_a_granted_folder(sh: Execute, root: Path) -> None:
    outside, inside = root.parent / "outside" / "secret.txt", root / "f"
    inside.write_text("fine")
    assert sh("true", outputs=declared(str(inside)))["error"]["code"] == "refused"
    assert sh("true", outputs=declared(str(inside), unsafe=True))["outputs"]["x"] == "fine"
    assert sh("true", outputs=declared(str(outside), unsafe=True))["error"]["code"] == "refused"
    wider = Grant(root, commands=None, more_roots=(root.parent,))
    assert sh("true", outputs=declared(str(outside), unsafe=True), grant=wider)["outputs"]["x"] == "secret"


def test_a_link_to_a_file_in_the_same_folder_is_refused_too(sh: Execute, root: Path) -> None:
    (root / "real").write_text("x")
    (root / "link").symlink_to("real")
    assert sh("true", outputs=declared("link"))["error"]["code"] == "refused"


def test_folders_pipes_and_large_files_are_no_outputs(sh: Execute, root: Path) -> None:
    assert "is not a file" in sh("mkdir f", outputs=declared("f"))["error"]["message"]
    assert "is not a file" in sh("mkfifo p", outputs=declared("p"))["error"]["message"]
    large = sh("head -c 10485761 /dev/zero > large", outputs=declared("large"))["error"]
    assert "too large" in large["message"]


def test_an_output_too_large_for_a_result_says_so(sh: Execute) -> None:
    error = sh("head -c 300000 /dev/zero | tr '\\0' x > f", outputs=declared("f"))["error"]
    assert "300," in error["message"]
    assert "path" in error["hint"]


def test_a_validation_is_an_expression_over_the_value_or_a_schema(sh: Execute, root: Path) -> None:
    (root / "f").write_text("85")
    assert sh("true", outputs=declared("f", type="int", validation="value >= 80"))["outputs"]["x"] == 85
    error = sh("true", outputs=declared("f", type="int", validation="value > 90"))["error"]
    assert (error["code"], "value > 90" in error["message"]) == ("output_invalid", True)
    assert "can't be evaluated" in sh("true", outputs=declared("f", validation="value >"))["error"]["message"]
    schema = {"type": "integer", "maximum": 80}
    assert "not valid" in sh("true", outputs=declared("f", type="int", validation=schema))["error"]["message"]


# -- scratch -------------------------------------------------------------------------


def test_scratch_is_shared_by_the_commands_of_a_run_and_private(sh: Execute, root: Path) -> None:
    assert sh('cd / && echo 7 > "$SCRATCH/n"')["exit_code"] == 0
    assert sh("cat $SCRATCH/n", outputs=declared("$SCRATCH/n", type="int"))["outputs"]["x"] == 7
    assert sh("true", outputs=declared("${SCRATCH}/n", type="int"))["outputs"]["x"] == 7
    folder = root / ".scratch" / "r1"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (root / ".scratch" / ".gitignore").read_text() == "*\n"


def test_a_path_in_the_scratch_folder_may_be_written_out(sh: Execute) -> None:
    assert (
        sh("echo a > $SCRATCH/one; echo b > .scratch/two", outputs=declared(".scratch/one"))["outputs"]["x"]
        == "a"
    )
    assert sh("true", outputs=declared(".scratch/two"))["outputs"]["x"] == "b"


def test_an_empty_scratch_folder_is_taken_away(sh: Execute, root: Path) -> None:
    assert sh("ls -d $SCRATCH")["exit_code"] == 0
    assert not (root / ".scratch").exists()


def test_scratch_is_no_way_out_of_the_folder(sh: Execute, root: Path) -> None:
    assert sh("true", outputs=declared("$SCRATCH/../../../outside/secret.txt"))["error"]["code"] == "refused"
    (root / ".scratch").symlink_to(root.parent / "outside")
    assert sh("true")["error"]["code"] == "refused"
