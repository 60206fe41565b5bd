"""`wfc check --format`: findings for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.check.conftest import MISSPELT
from tests.e2e.command import wfc, write


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
                "notes": [],
                "fix": {
                    "description": "rename it to command",
                    "safe": False,
                    "edits": [
                        {
                            "file": "misspelt.yaml",
                            "line": 6,
                            "column": 5,
                            "end_line": 6,
                            "end_column": 11,
                            "text": "command",
                        }
                    ],
                },
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
                "message": "`on` is text here, and `true` in YAML 1.1",
                "help": 'quote it: "on"; or write `true` if that is meant',
                "fixable": True,
                "step": None,
                "notes": [],
                "fix": {
                    "description": "quote it",
                    "safe": True,
                    "edits": [
                        {
                            "file": "panel.yaml",
                            "line": 9,
                            "column": 15,
                            "end_line": 9,
                            "end_column": 17,
                            "text": '"on"',
                        }
                    ],
                },
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


@pytest.mark.parametrize("named", [(), ("workflows",), ("./workflows/misspelt.yaml",)])
def test_a_job_in_a_folder_of_the_repository_names_files_from_its_root(
    tmp_path: Path, named: tuple[str, ...]
) -> None:
    write(tmp_path / "tools" / "workflows", misspelt=MISSPELT)
    here, env = tmp_path / "tools", {"GITHUB_WORKSPACE": str(tmp_path)}
    assert wfc("check", *named, "--format", "github", cwd=here).out.startswith("::error file=")
    annotation = wfc("check", *named, "--format", "github", cwd=here, env=env).out
    assert annotation.startswith("::error file=tools/workflows/misspelt.yaml,line=6,")
    sarif = json.loads(wfc("check", *named, "--format", "sarif", cwd=here, env=env).out)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "tools/workflows/misspelt.yaml"
    elsewhere = {"GITHUB_WORKSPACE": str(tmp_path / "tool")}
    annotation = wfc("check", *named, "--format", "github", cwd=here, env=elsewhere).out
    assert "file=tools/" not in annotation


def test_services_that_look_from_the_root_get_paths_that_they_can_place(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    write(tmp_path / "workflows", misspelt=MISSPELT)
    (tmp_path / "src").mkdir()
    annotation = wfc("check", "--format", "github", cwd=tmp_path / "src").out
    assert annotation.startswith(f"::error file={tmp_path}/workflows/misspelt.yaml,line=6,")
    sarif = json.loads(wfc("check", "--format", "sarif", cwd=tmp_path / "src").out)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == (tmp_path / "workflows" / "misspelt.yaml").as_uri()
