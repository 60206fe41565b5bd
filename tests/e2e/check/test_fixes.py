"""`wfc check --fix` and `--diff`."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.check.conftest import MISSPELT, PANEL
from tests.e2e.command import wfc, write


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
    assert done.err == "would fix 1 finding in 1 file; 1 more with --unsafe-fixes\n"
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
    said = "would fix 0 findings in 0 files; 1 more with --unsafe-fixes\n"
    assert (done.status, done.out, done.err) == (0, "", said)
    done = wfc("check", "clean.yaml", "--diff", cwd=folder)
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


REFUSED = """\
name: refused
version: "1.0.0"
inputs:
  names: {type: array, required: true}
steps:
  - id: go
    type: return
    value: "{{ inputs.names | selectattr('ok') | mx }}"
"""


def test_a_fix_that_would_bring_another_finding_is_refused_and_says_why(folder: Path) -> None:
    write(folder, refused=REFUSED)
    done = wfc("check", "refused.yaml", "--fix", "--unsafe-fixes", cwd=folder)
    assert (folder / "refused.yaml").read_text() == REFUSED
    assert done.err == (
        "refused.yaml:8:50: WF203 unknown-filter is not fixed: it would cause WF224: there is no `max` item if "
        "`selectattr` finds nothing\n"
        "fixed 0 findings in 0 files\n"
    )
