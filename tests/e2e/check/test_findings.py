"""`wfc check`: what it says, and how it exits."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.check.conftest import MISSPELT, PANEL
from tests.e2e.command import SMALL, wfc, write


def test_a_clean_workflow_exits_with_0(folder: Path) -> None:
    done = wfc("check", "clean.yaml", cwd=folder)
    assert (done.status, done.out, done.err) == (0, "checked 1 workflow: all clean\n", "")


def test_an_error_exits_with_1_and_is_shown_with_its_place_and_the_way_out(folder: Path) -> None:
    done = wfc("check", "misspelt.yaml", cwd=folder)
    assert done.status == 1
    assert done.out == (
        "misspelt.yaml:6:5: error[WF004 unknown-field]: a shell step has no field `comand`\n"
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


def test_paths_are_relative_to_the_folder_where_the_command_is_given(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    write(tmp_path / "workflows", misspelt=MISSPELT)
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    assert wfc("check", cwd=deep).out.startswith(
        "../../workflows/misspelt.yaml:6:5: error[WF004 unknown-field]"
    )
    assert wfc("check", cwd=tmp_path).out.startswith(
        "workflows/misspelt.yaml:6:5: error[WF004 unknown-field]"
    )
    assert wfc("check", "../../workflows", cwd=deep).out.startswith("../../workflows/misspelt.yaml:6:5:")


def test_a_name_that_a_file_beside_the_selected_one_has_too_does_not_confuse_calls(tmp_path: Path) -> None:
    def call(name: str, called: str) -> str:
        return f"name: {name}\nversion: 1.0.0\nsteps:\n  - {{id: s, type: call, workflow: {called}}}\n"

    write(tmp_path / "workflows", a=call("a", "b"), b=call("b", "a"), again=SMALL.format(name="a"))
    done = wfc("check", "workflows/a.yaml", cwd=tmp_path)
    assert done.status == 1
    assert "unbounded recursion: `a` calls itself (a -> b -> a)" in done.out
