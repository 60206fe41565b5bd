"""Comments that hide a finding."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.check.conftest import MISSPELT, PANEL
from tests.e2e.command import SMALL, wfc, write


def test_a_suppression_comment_hides_the_finding_on_its_line(folder: Path) -> None:
    write(folder, panel=PANEL.replace("# two", "# wfc: ignore[WF003] the panel says so"))
    assert wfc("check", "panel.yaml", cwd=folder).out == "checked 1 workflow: all clean\n"


def test_a_suppression_that_hides_nothing_is_a_warning_and_is_removed_by_fix(folder: Path) -> None:
    write(folder, clean=SMALL.format(name="clean").replace("make", "make  # wfc: ignore[WF003]"))
    assert (
        "warning[WF704 unused-suppression]: unused suppression: no WF003 on this line"
        in wfc("check", "clean.yaml", cwd=folder).out
    )
    assert wfc("check", "clean.yaml", "--fix", cwd=folder).status == 0
    assert (folder / "clean.yaml").read_text() == SMALL.format(name="clean")


def test_a_suppression_in_a_file_with_errors_is_not_called_unused(folder: Path) -> None:
    write(folder, misspelt=MISSPELT.replace("type: shell", "type: shell  # wfc: ignore[WF301]"))
    done = wfc("check", "misspelt.yaml", "--fix", cwd=folder)
    assert "WF704" not in done.out
    assert "wfc: ignore[WF301]" in (folder / "misspelt.yaml").read_text()


def test_an_error_that_cant_be_ignored_is_shown_and_says_so(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.wfc]\nignore = ["WF003", "WF004"]\n')
    done = wfc("check", ".", cwd=folder)
    assert done.out.endswith("checked 3 workflows: 1 error\n")
    assert "error[WF004 unknown-field]" in done.out
    assert "  note: `ignore` in [tool.wfc] lists this check, but a workflow" in done.out
