"""`wfc check` as a user runs it."""

from __future__ import annotations

import errno
import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import SMALL, wfc, write
from wfc.cli.main import main

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


# -- what it says, and how it exits ------------------------------------------


def test_a_clean_workflow_exits_with_0(folder: Path) -> None:
    done = wfc("check", "clean.yaml", cwd=folder)
    assert (done.status, done.out, done.err) == (0, "checked 1 workflow: all clean\n", "")


def test_an_error_exits_with_1_and_is_shown_with_its_place_and_the_way_out(folder: Path) -> None:
    done = wfc("check", "misspelt.yaml", cwd=folder)
    assert done.status == 1
    assert done.out == (
        "misspelt.yaml:6:5: error[WF004]: a shell step has no field `comand`\n"
        "    6 |     comand: make\n"
        "      |     ^^^^^^\n"
        "  help: did you mean `command`?\n"
        "  fixable with `wfc check --fix --unsafe-fixes`\n"
        "\n"
        "checked 1 workflow: 1 error\n"
    )


def test_a_warning_alone_exits_with_1_too(folder: Path) -> None:
    done = wfc("check", "panel.yaml", cwd=folder)
    assert done.status == 1
    assert done.out.endswith("checked 1 workflow: 1 warning\n")


def test_all_files_are_checked_in_one_run_and_counted(folder: Path) -> None:
    done = wfc("check", ".", cwd=folder)
    assert done.status == 1
    assert done.out.endswith("checked 3 workflows: 1 error, 1 warning\n")
    assert [line.split(":")[0] for line in done.out.splitlines() if "[WF" in line] == [
        "misspelt.yaml",
        "panel.yaml",
    ]


def test_quiet_leaves_out_the_summary(folder: Path) -> None:
    assert wfc("check", "clean.yaml", "-q", cwd=folder).out == ""
    assert "checked" not in wfc("check", "panel.yaml", "--quiet", cwd=folder).out


def test_without_paths_it_checks_the_projects_workflows(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nworkflows = "flows"\n')
    write(tmp_path / "flows", one="", two="")
    assert wfc("check", cwd=tmp_path).out == "checked 2 workflows: all clean\n"


def test_the_settings_hold_from_a_folder_below(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nworkflows = "flows"\nignore = ["WF003"]\n')
    write(tmp_path / "flows" / "deep", panel=PANEL)
    done = wfc("check", "panel.yaml", cwd=tmp_path / "flows" / "deep")
    assert (done.status, done.out) == (0, "checked 1 workflow: all clean\n")


def test_excluded_and_hidden_files_are_left_out_unless_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nexclude = ["old", "*/draft-*.yaml"]\n')
    write(tmp_path / "workflows", clean="", **{"draft-1": "a list?"})
    write(tmp_path / "old", gone="[")
    write(tmp_path / ".cache", copy="[")
    assert wfc("check", ".", cwd=tmp_path).out == "checked 1 workflow: all clean\n"
    assert wfc("check", "workflows/draft-1.yaml", cwd=tmp_path).status == 1


def test_a_file_that_is_named_twice_is_checked_once(folder: Path) -> None:
    done = wfc("check", "clean.yaml", "./clean.yaml", folder / "clean.yaml", cwd=folder)
    assert (done.status, done.out) == (0, "checked 1 workflow: all clean\n")


# -- formats -----------------------------------------------------------------


def test_json_has_exactly_the_documented_shape(folder: Path) -> None:
    done = wfc("check", "misspelt.yaml", "panel.yaml", "--format", "json", cwd=folder)
    assert done.status == 1
    assert json.loads(done.out) == {
        "findings": [
            {
                "code": "WF004",
                "name": "unknown-field",
                "severity": "error",
                "file": "misspelt.yaml",
                "line": 6,
                "column": 5,
                "end_line": 6,
                "end_column": 11,
                "message": "a shell step has no field `comand`",
                "help": "did you mean `command`?",
                "fixable": True,
                "step": "build",
            },
            {
                "code": "WF003",
                "name": "ambiguous-scalar",
                "severity": "warning",
                "file": "panel.yaml",
                "line": 9,
                "column": 15,
                "end_line": 9,
                "end_column": 17,
                "message": "`on` is text here, and `true` to readers of YAML 1.1",
                "help": 'quote it: "on"; or write `true` if that is meant',
                "fixable": True,
                "step": None,
            },
        ],
        "errors": 1,
        "warnings": 1,
    }


def test_json_of_a_clean_run_is_an_empty_list_and_two_zeros(folder: Path) -> None:
    done = wfc("check", "clean.yaml", "--format=json", cwd=folder)
    assert (done.status, json.loads(done.out)) == (0, {"findings": [], "errors": 0, "warnings": 0})


def test_github_prints_one_annotation_per_finding(folder: Path) -> None:
    done = wfc("check", "misspelt.yaml", "--format", "github", cwd=folder)
    assert done.status == 1
    assert done.out == (
        "::error file=misspelt.yaml,line=6,endLine=6,col=5,endColumn=11,title=WF004 unknown-field::"
        "a shell step has no field `comand`%0Ahelp: did you mean `command`?\n"
    )


def test_sarif_names_the_tool_the_rules_and_the_places(folder: Path) -> None:
    done = wfc("check", ".", "--format", "sarif", cwd=folder)
    assert done.status == 1
    document = json.loads(done.out)
    run = document["runs"][0]
    assert document["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["WF003", "WF004"]
    assert [result["ruleId"] for result in run["results"]] == ["WF004", "WF003"]
    place = run["results"][1]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "panel.yaml"
    assert place["region"] == {"startLine": 9, "startColumn": 15, "endLine": 9, "endColumn": 17}


# -- wrong usage -------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["clean.yaml", "--fox"], "No such option"),
        (["clean.yaml", "--format", "xml"], "'xml' is not one of"),
        (["clean.yaml", "--unsafe-fixes"], "--unsafe-fixes goes with --fix or --diff"),
        (["nowhere.yaml"], "there is no file or folder `nowhere.yaml`"),
        (["clean.yaml", "nowhere"], "there is no file or folder `nowhere`"),
        (["empty"], "there are no workflows (.yaml, .yml) in `empty`"),
        (["x" * 300], "File name too long"),
        ([], "there is no folder `workflows`"),
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


# -- files that are not what they should be ----------------------------------


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
        assert f"error[{code}]" in done.out
        assert words in done.out
        assert "Traceback" not in done.err
    assert (tmp_path / "odd.yaml").read_bytes() == data


# -- suppressions ------------------------------------------------------------


def test_a_suppression_comment_hides_the_finding_on_its_line(folder: Path) -> None:
    write(folder, panel=PANEL.replace("# two", "# wfc: ignore[WF003] the panel says so"))
    assert wfc("check", "panel.yaml", cwd=folder).out == "checked 1 workflow: all clean\n"


def test_a_suppression_that_hides_nothing_is_a_warning_and_is_removed_by_fix(folder: Path) -> None:
    write(folder, clean=SMALL.format(name="clean").replace("make", "make  # wfc: ignore[WF003]"))
    assert "warning[WF704]: there is no WF003 here to hide" in wfc("check", "clean.yaml", cwd=folder).out
    assert wfc("check", "clean.yaml", "--fix", cwd=folder).status == 0
    assert (folder / "clean.yaml").read_text() == SMALL.format(name="clean")


def test_a_suppression_in_a_file_with_errors_is_not_called_unused(folder: Path) -> None:
    write(folder, misspelt=MISSPELT.replace("type: shell", "type: shell  # wfc: ignore[WF301]"))
    done = wfc("check", "misspelt.yaml", "--fix", cwd=folder)
    assert "WF704" not in done.out
    assert "wfc: ignore[WF301]" in (folder / "misspelt.yaml").read_text()


# -- fixes -------------------------------------------------------------------


def test_fix_writes_the_safe_fixes_and_reports_what_is_left(folder: Path) -> None:
    done = wfc("check", ".", "--fix", cwd=folder)
    assert done.status == 1
    assert done.err == "fixed 1 finding in 1 file\n"
    assert done.out.endswith("checked 3 workflows: 1 error\n")
    assert (folder / "panel.yaml").read_text() == PANEL.replace("[on,", '["on",')
    assert (folder / "misspelt.yaml").read_text() == MISSPELT


def test_unsafe_fixes_are_written_only_when_asked_for(folder: Path) -> None:
    done = wfc("check", "misspelt.yaml", "--fix", "--unsafe-fixes", cwd=folder)
    assert (done.status, done.out) == (0, "checked 1 workflow: all clean\n")
    assert (folder / "misspelt.yaml").read_text() == MISSPELT.replace("comand", "command")


def test_fixes_that_uncover_findings_are_followed_by_more_fixes(folder: Path) -> None:
    text = PANEL.replace("prompt_type: choice", "type: choice").replace("# two", "# wfc: ignore[WF305]")
    write(folder, panel=text)
    done = wfc("check", "panel.yaml", "--fix", cwd=folder)
    assert (done.status, done.out) == (0, "checked 1 workflow: all clean\n")
    assert (folder / "panel.yaml").read_text() == PANEL.replace("[on,", '["on",').replace("  # two", "")


def test_fixing_what_is_clean_touches_no_file(folder: Path) -> None:
    before = (folder / "clean.yaml").stat().st_mtime_ns
    done = wfc("check", "clean.yaml", "--fix", cwd=folder)
    assert (done.status, done.err) == (0, "fixed 0 findings in 0 files\n")
    assert (folder / "clean.yaml").stat().st_mtime_ns == before


@pytest.mark.parametrize("arguments", [["--diff"], ["--fix", "--diff"]])
def test_diff_shows_the_changes_and_writes_nothing(folder: Path, arguments: list[str]) -> None:
    done = wfc("check", ".", *arguments, cwd=folder)
    assert done.status == 1
    assert done.err == "would fix 1 finding in 1 file\n"
    assert done.out == (
        "--- panel.yaml\n"
        "+++ panel.yaml\n"
        "@@ -6,4 +6,4 @@\n"
        "     type: prompt\n"
        "     prompt_type: choice\n"
        "     message: Which?\n"
        '-    options: [on, "off"]  # two\n'
        '+    options: ["on", "off"]  # two\n'
    )
    assert (folder / "panel.yaml").read_text() == PANEL


def test_diff_of_what_needs_no_fix_is_empty_and_exits_with_0(folder: Path) -> None:
    done = wfc("check", "misspelt.yaml", "--diff", cwd=folder)
    assert (done.status, done.out, done.err) == (0, "", "would fix 0 findings in 0 files\n")


def test_diff_can_be_given_to_patch(folder: Path) -> None:
    (folder / "panel.yaml").write_text(PANEL.replace("# two\n", "# two") + "  # and no end", newline="")
    diff = wfc("check", "panel.yaml", "misspelt.yaml", "--diff", "--unsafe-fixes", cwd=folder)
    assert "\\ No newline at end of file\n" in diff.out
    done = subprocess.run(["git", "apply", "-p0"], input=diff.out, text=True, cwd=folder, check=False)
    assert done.returncode == 0
    assert '["on", "off"]' in (folder / "panel.yaml").read_text()
    assert "command: make" in (folder / "misspelt.yaml").read_text()


def test_a_fix_keeps_byte_order_mark_line_ends_comments_and_mode(folder: Path) -> None:
    path = folder / "panel.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + PANEL.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    assert wfc("check", "panel.yaml", "--fix", cwd=folder).status == 0
    expected = PANEL.replace("[on,", '["on",').replace("\n", "\r\n").encode()
    assert path.read_bytes() == b"\xef\xbb\xbf" + expected
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_fix_that_finds_no_room_on_the_disk_leaves_the_file_as_it_was(folder: Path) -> None:
    before = (folder / "panel.yaml").read_bytes()
    tiny = f"ulimit -f 0; exec {sys.executable} -m wfc check --fix panel.yaml"
    done = subprocess.run(["bash", "-c", tiny], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "can't write `panel.yaml`: File too large" in done.stderr
    assert (folder / "panel.yaml").read_bytes() == before
    assert [path.name for path in folder.iterdir() if path.name.endswith(".tmp")] == []


def test_a_fix_goes_through_a_symbolic_link(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "panel.yaml").rename(folder / "real" / "panel.yaml")
    (folder / "panel.yaml").symlink_to("real/panel.yaml")
    assert wfc("check", "panel.yaml", "--fix", cwd=folder).status == 0
    assert (folder / "panel.yaml").is_symlink()
    assert '["on", "off"]' in (folder / "real" / "panel.yaml").read_text()


def test_a_file_that_is_not_utf8_is_never_rewritten_beside_one_that_is(folder: Path) -> None:
    data = PANEL.encode() + b"# caf\xe9\n"
    (folder / "latin.yaml").write_bytes(data)
    done = wfc("check", "latin.yaml", "panel.yaml", "--fix", cwd=folder)
    assert done.err == "fixed 1 finding in 1 file\n"
    assert (folder / "latin.yaml").read_bytes() == data


def test_fix_with_json_keeps_standard_output_pure(folder: Path) -> None:
    done = wfc("check", "panel.yaml", "--fix", "--format", "json", cwd=folder)
    assert json.loads(done.out) == {"findings": [], "errors": 0, "warnings": 0}
    assert done.err == "fixed 1 finding in 1 file\n"


# -- colour ------------------------------------------------------------------


def on_a_terminal(folder: Path, **variables: str) -> str:
    """What a person sees: the command's output on a pseudo terminal."""
    outer, inner = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    subprocess.run(
        [sys.executable, "-m", "wfc", "check", "misspelt.yaml"],
        cwd=folder,
        env={**env, "TERM": "xterm", **variables},
        stdout=inner,
        timeout=60,
        check=False,
    )
    os.close(inner)
    shown = b""
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(outer)
    return shown.decode()


def test_there_is_colour_on_a_terminal(folder: Path) -> None:
    assert "\x1b[31;1merror[WF004]\x1b[0m" in on_a_terminal(folder)


@pytest.mark.parametrize(
    "variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}]
)
def test_there_is_none_on_a_terminal_when_the_environment_says_so(
    folder: Path, variables: dict[str, Any]
) -> None:
    assert "\x1b" not in on_a_terminal(folder, **variables)


def test_there_is_no_colour_in_a_pipe_unless_it_is_forced(folder: Path) -> None:
    assert "\x1b" not in wfc("check", "misspelt.yaml", cwd=folder).out
    assert "\x1b[31;1m" in wfc("check", "misspelt.yaml", cwd=folder, env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in wfc("check", "misspelt.yaml", cwd=folder, env={"FORCE_COLOR": ""}).out
