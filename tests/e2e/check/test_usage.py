"""`wfc check` used wrongly, or on files that are not what they should be."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.e2e.command import inside, wfc, write
from wfc.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["clean.yaml", "--fox"], "No such option"),
        (["clean.yaml", "--format", "xml"], "'xml' is not one of"),
        (["clean.yaml", "--unsafe-fixes"], "--unsafe-fixes requires --fix or --diff"),
        (["nowhere.yaml"], "there is no file or folder `nowhere.yaml`"),
        (["clean.yaml", "nowhere"], "there is no file or folder `nowhere`"),
        (["empty"], "there are no workflows (.yaml, .yml) in `empty`"),
        (["x" * 300], "File name too long"),
        ([], "there is no folder `workflows`"),
        ([""], "a path is empty"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(
    folder: Path, arguments: list[str], words: str
) -> None:
    (folder / "empty").mkdir()
    (folder / "empty" / "notes.txt").write_text("no workflow")
    done = wfc("check", *arguments, cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_folder_without_workflows_is_wrong_usage_also_where_it_is_the_projects_own(folder: Path) -> None:
    (folder / "workflows").mkdir()
    for arguments in ([], ["--format", "json"], ["--fix"], ["--diff"], ["workflows"]):
        done = wfc("check", *arguments, cwd=folder)
        assert (done.status, done.out) == (2, "")
        assert "there are no workflows (.yaml, .yml) in `workflows`" in done.err


def test_an_unknown_command_suggests_the_nearest(folder: Path) -> None:
    done = wfc("chekc", cwd=folder)
    assert done.status == 2
    assert "no command `chekc`; did you mean `check`?" in done.err


def refused(monkeypatch: pytest.MonkeyPatch, operation: str, *arguments: str) -> int:
    """The command's exit code where the system refuses one operation on files, as it refuses root nothing."""

    def refuse(path: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, operation, refuse)
    monkeypatch.setattr(sys, "argv", ["wfc", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_a_file_that_may_not_be_read_exits_with_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert refused(monkeypatch, "open", "check", "clean.yaml") == 2
    assert capsys.readouterr() == ("", "wfc: can't read `clean.yaml`: Permission denied\n")


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="needs a file that can be opened but not read"
)
def test_a_file_that_cannot_be_read_exits_with_2(folder: Path) -> None:
    done = wfc("check", "/proc/self/mem", cwd=folder)
    assert done.status == 2
    assert "can't read `/proc/self/mem`" in done.err


def test_bad_settings_exit_with_2_in_one_line(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.wfc]\nworkflow = "flows"\n')
    done = wfc("check", "clean.yaml", cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"wfc: {folder}/pyproject.toml: [tool.wfc] has no setting `workflow`; did you mean `workflows`?\n"
    )


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"name: caf\xe9\n", "WF001", "the byte 0xE9 is not valid UTF-8"),
        ("name: x\n".encode("utf-16"), "WF001", "the file is encoded as UTF-16"),
        (b"name: a\x00b\n", "WF001", "a NUL character"),
        (b"", "WF005", "the file is empty"),
        (b"- a\n- b\n", "WF005", "the file is a list"),
        (b"#" * 1_100_000, "WF010", "more than 1,048,576 bytes"),
        (b"[" * 100_000, "WF010", "nested more than 64 levels deep"),
    ],
    ids=["latin-1", "utf-16", "nul", "empty", "list", "too-large", "too-deep"],
)
def test_any_bytes_give_a_finding_and_never_a_traceback(
    tmp_path: Path, data: bytes, code: str, words: str
) -> None:
    (tmp_path / "odd.yaml").write_bytes(data)
    for mode in ([], ["--fix", "--unsafe-fixes"]):
        done = wfc("check", "odd.yaml", *mode, cwd=tmp_path)
        assert done.status == 1
        assert f"error[{code} " in done.out
        assert words in done.out
        assert "Traceback" not in done.err
    assert (tmp_path / "odd.yaml").read_bytes() == data


def refuse_folder(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The system refuses to list one folder, as it refuses root nothing."""
    scandir = os.scandir

    def listed(path: Any = ".") -> Any:
        if Path(path).name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listed)


@pytest.mark.parametrize("closed", ["workflows", "team"])
@pytest.mark.parametrize("command", ["check", "compile", "test"])
def test_a_folder_that_may_not_be_read_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, closed: str
) -> None:
    write(tmp_path / "workflows" / "team", build="")
    assert inside("compile", cwd=tmp_path).status == 0
    refuse_folder(monkeypatch, closed)
    done = inside(command, cwd=tmp_path)
    place = Path("workflows") if closed == "workflows" else Path("workflows", "team")
    assert (done.status, done.out, done.err) == (2, "", f"wfc: can't read `{place}`: Permission denied\n")
    assert (tmp_path / "generated" / "build.py").is_file()


def test_a_folder_that_may_not_be_read_can_be_excluded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "workflows", build="")
    write(tmp_path / "workflows" / "team", other="")
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nexclude = ["workflows/team"]\n')
    refuse_folder(monkeypatch, "team")
    done = inside("check", cwd=tmp_path)
    assert (done.status, done.out) == (0, "checked 1 workflow: all clean\n")


def test_a_link_that_leads_nowhere_is_not_taken_for_no_workflow(tmp_path: Path) -> None:
    write(tmp_path / "workflows", build="")
    (tmp_path / "workflows" / "moved.yaml").symlink_to("nowhere.yaml")
    done = inside("check", cwd=tmp_path)
    said = f"wfc: can't read `{Path('workflows', 'moved.yaml')}`: No such file or directory\n"
    assert (done.status, done.err) == (2, said)


@pytest.mark.parametrize("command", ["run", "graph", "plan"])
def test_a_test_file_is_not_taken_for_a_workflow(tmp_path: Path, command: str) -> None:
    (tmp_path / "build.test.yaml").write_text("tests: []\n")
    done = inside(command, "build.test.yaml", cwd=tmp_path)
    assert done.status == 2
    assert (
        "`build.test.yaml` is a test file, not a workflow; run it with `wfc test build.test.yaml`" in done.err
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_no_failure_of_wfc(
    folder: Path, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "wfc", "check", "clean.yaml"]
        done = subprocess.run(
            command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "wfc: can't write: No space left on device\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_is_closed_changes_no_exit_code(folder: Path, closed: str) -> None:
    command = f"{sys.executable} -m wfc check clean.yaml {closed}"
    assert subprocess.run(["sh", "-c", command], cwd=folder, check=False).returncode == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["check", "clean.yaml"], 0),
        (["check", "wrong.yaml"], 1),
        (["schema"], 0),
        (["--help"], 0),
        (["diff", "clean.yaml", "wrong.yaml"], 1),
        (["test", "wrong.test.yaml"], 1),
        (["doctor"], 1),
        (["explore", "deep.yaml"], 1),
    ],
)
def test_a_pipe_that_is_closed_early_changes_no_exit_code(
    folder: Path, arguments: list[str], status: int, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    steps = "".join(f"  - {{id: s{number}, type: nonsense}}\n" for number in range(500))
    (folder / "wrong.yaml").write_text(f"name: wrong\nversion: '1'\nsteps:\n{steps}")
    (folder / "wrong.test.yaml").write_text("tests: [{name: it runs}]\n")
    fails = 'steps:\n  - {id: out, type: return, value: "{{ 1 / (inputs.n | length) }}"}\n'
    (folder / "deep.yaml").write_text(f"name: deep\nversion: '1'\ninputs: {{n: {{type: string}}}}\n{fails}")
    (folder / ".mcp.json").write_text("nonsense")
    reading, writing = os.pipe()
    os.close(reading)
    with open(os.devnull) as nothing, tempfile.TemporaryFile() as errors, open(writing, "w") as out:
        streams = (nothing.fileno(), out.fileno(), errors.fileno())
        ended = forks.start(arguments, folder, dict(os.environ), streams).wait()
        errors.seek(0)
        assert (errors.read(), ended) == (b"", status)


@pytest.mark.parametrize("in_a_group", [False, True])
def test_a_failure_of_wfc_itself_says_where_and_quotes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], in_a_group: bool
) -> None:
    def breaks(**_: object) -> None:
        error = LookupError("tk-9f8e7d6c5b4a")
        raise ExceptionGroup("tk-9f8e7d6c5b4a", [error]) if in_a_group else error

    monkeypatch.setattr("wfc.cli.main.cli.main", breaks)
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr().err
    assert stopped.value.code == 3
    assert said.startswith("wfc: internal error: LookupError")
    assert (Path(__file__).name in said) is not in_a_group
    assert "tk-9f8e7d6c5b4a" not in said
