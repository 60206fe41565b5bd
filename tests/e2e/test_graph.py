"""`wfc graph`, as a person calls it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.e2e.command import wfc, write
from tests.support import ROOT

TASKS = """\
name: audit
version: "1.0.0"
steps:
  - {id: look, type: foreach, items: ["a", "b"], task: audit_module}
tasks:
  audit_module:
    inputs: {module: {type: string, required: true}}
    steps:
      - {id: inspect, type: shell, command: make inspect}
"""

BROKEN = """\
name: broken
version: "1.0.0"
steps:
  - id: jump
    type: goto
    target: nowhere
    max_iterations: 2
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.wfc]\nworkflows = "flows"\n', encoding="utf-8")
    write(tmp_path / "flows", deploy="", audit=TASKS, broken=BROKEN)
    return tmp_path


def test_a_workflow_of_the_project_is_drawn_by_its_name_as_mermaid(project: Path) -> None:
    done = wfc("graph", "deploy", cwd=project)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(
        'flowchart TD\n  c0_start((" ")):::dot\n  c0_build["build<br/>shell"]:::agentStep\n'
    )


def test_a_file_is_drawn_by_its_path(project: Path) -> None:
    assert wfc("graph", "flows/deploy.yaml", cwd=project).out == wfc("graph", "deploy", cwd=project).out


@pytest.mark.parametrize(
    ("form", "start"),
    [("mermaid", "flowchart TD\n"), ("dot", 'digraph "deploy" {\n'), ("svg", "<svg xmlns=")],
)
def test_there_are_three_formats(project: Path, form: str, start: str) -> None:
    done = wfc("graph", "deploy", "--format", form, cwd=project)
    assert done.status == 0
    assert done.out.startswith(start)


@pytest.mark.parametrize(
    ("name", "start"),
    [("x.svg", "<svg"), ("x.dot", "digraph"), ("x.gv", "digraph"), ("x.mmd", "flowchart"), ("X.SVG", "<svg")],
)
def test_the_format_follows_from_the_ending_of_the_file(project: Path, name: str, start: str) -> None:
    done = wfc("graph", "deploy", "-o", name, cwd=project)
    assert (done.status, done.out, done.err) == (0, "", "")
    assert (project / name).read_text(encoding="utf-8").startswith(start)


def test_a_format_that_is_given_wins_over_the_ending(project: Path) -> None:
    assert wfc("graph", "deploy", "--format", "dot", "-o", "x.txt", cwd=project).status == 0
    assert (project / "x.txt").read_text(encoding="utf-8").startswith("digraph")


def test_an_ending_that_says_nothing_is_wrong_usage(project: Path) -> None:
    done = wfc("graph", "deploy", "-o", "x.png", cwd=project)
    assert done.status == 2
    assert "unknown format of `x.png`; use --format, or a name that ends with .mmd, .dot or .svg" in done.err


def test_a_file_that_cannot_be_written_is_wrong_usage(project: Path) -> None:
    done = wfc("graph", "deploy", "-o", "nowhere/x.svg", cwd=project)
    assert done.status == 2
    assert "can't write `nowhere/x.svg`: No such file or directory" in done.err


def test_one_task_is_drawn_alone(project: Path) -> None:
    assert 'subgraph c1["task audit_module"]' in wfc("graph", "audit", cwd=project).out
    done = wfc("graph", "audit", "--task", "audit_module", cwd=project)
    assert done.status == 0
    assert "inspect" in done.out
    assert "foreach" not in done.out


def test_an_unknown_task_is_wrong_usage_and_gets_a_suggestion(project: Path) -> None:
    done = wfc("graph", "audit", "--task", "audit-modul", cwd=project)
    assert (done.status, done.out) == (2, "")
    assert "`audit` has no task `audit-modul`; did you mean `audit_module`?" in done.err
    assert "`deploy` has no task `x`; it has none" in wfc("graph", "deploy", "--task", "x", cwd=project).err


def test_an_unknown_workflow_is_wrong_usage_and_gets_a_suggestion(project: Path) -> None:
    done = wfc("graph", "deplyo", cwd=project)
    assert (done.status, done.out) == (2, "")
    assert "there is no workflow or file `deplyo`; did you mean `deploy`?" in done.err


def test_a_folder_is_wrong_usage(project: Path) -> None:
    done = wfc("graph", "flows", cwd=project)
    assert done.status == 2
    assert "`flows` is a folder; name a workflow or a file" in done.err


def test_a_name_that_two_files_have_is_wrong_usage(project: Path) -> None:
    write(project / "flows", second=(project / "flows" / "deploy.yaml").read_text(encoding="utf-8"))
    done = wfc("graph", "deploy", cwd=project)
    assert done.status == 2
    assert "several workflows `deploy`; name the file: `flows/deploy.yaml` or `flows/second.yaml`" in done.err


def test_a_workflow_with_an_error_is_not_drawn_and_its_findings_are_printed(project: Path) -> None:
    done = wfc("graph", "broken", "-o", "x.svg", cwd=project)
    assert (done.status, done.out) == (1, "")
    assert "flows/broken.yaml:6:13: error[WF104 unknown-goto-target]" in done.err
    assert not (project / "x.svg").exists()


def test_text_that_is_no_yaml_is_an_error_too(project: Path) -> None:
    write(project / "flows", torn="name: [\n")
    done = wfc("graph", "flows/torn.yaml", cwd=project)
    assert (done.status, done.out) == (1, "")
    assert "error[WF001 yaml-syntax]" in done.err


def test_an_error_in_another_workflow_does_not_matter(project: Path) -> None:
    assert wfc("graph", "audit", cwd=project).status == 0


def test_the_picture_is_utf_8_wherever_it_is_made(project: Path) -> None:
    plain = wfc("graph", "audit", "--format", "svg", cwd=project)
    elsewhere = wfc("graph", "audit", "--format", "svg", cwd=project, env={"PYTHONIOENCODING": "ascii"})
    assert plain.out == elsewhere.out
    ElementTree.fromstring(plain.out)


@pytest.mark.parametrize("name", ["deploy-service", "release-checks"])
def test_our_own_workflows_can_be_drawn(name: str) -> None:
    done = wfc("graph", name, "--format", "svg", cwd=ROOT)
    assert (done.status, done.err) == (0, "")
    ElementTree.fromstring(done.out)
