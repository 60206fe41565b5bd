"""What commands show of a blocks file is its blocks, and not the steps that stand between them in the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.command import Result, wfc

DEPLOY = """\
name: deploy
description: Two blocks side by side, one that may run or not, and the time of the start.
inputs: {go: {type: bool, default: true}}
blocks:
  - {id: build, type: Shell, inputs: {command: make}}
  - {id: lint, type: Shell, inputs: {command: make lint}, depends_on: [build]}
  - {id: test, type: Shell, inputs: {command: make test}, depends_on: [build]}
  - id: apply
    type: Shell
    inputs: {command: make apply}
    condition: ${inputs.go} and ${blocks.test.succeeded}
    depends_on: [lint, {block: test, required: false}]
  - id: undo
    type: Shell
    inputs: {command: make undo, env: {SINCE: "${metadata.start_time}"}}
    condition: ${blocks.apply.failed}
    depends_on: [{block: apply, required: false}]
outputs: {done: "${blocks.apply.succeeded}"}
"""
TESTS = """\
tests:
  - name: nothing is applied
    inputs: {go: false}
    answers: {build: {exit_code: 0}, lint: {exit_code: 0}, test: {exit_code: 0}}
    expect: {result: {done: false}}
"""
INNER = re.compile(r"wave[-_]|apply[-_](?:tried|began|ended|condition)|begin")
WANTED = {
    ("build", "lint"),
    ("build", "test"),
    ("lint", "apply"),
    ("test", "apply"),
    ("apply", "undo"),
    ("undo", "outputs"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "deploy.yaml").write_text(DEPLOY)
    (tmp_path / "workflows" / "deploy.test.yaml").write_text(TESTS)
    return tmp_path


def speaks_of_blocks(done: Result) -> None:
    assert INNER.findall(done.out + done.err) == []


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg"])
def test_the_graph_has_the_blocks_and_nothing_else(project: Path, form: str) -> None:
    done = wfc("graph", "deploy", "--format", form, cwd=project)
    assert done.status == 0, done.err
    speaks_of_blocks(done)
    assert all(name in done.out for name in ("build", "lint", "test", "apply", "undo", "outputs"))


def test_the_links_of_the_graph_are_the_dependencies(project: Path) -> None:
    out = wfc("graph", "deploy", cwd=project).out
    links = set(re.findall(r"^  c0_(\w+) -->(?:\|[^|]*\|)? c0_(\w+)$", out, re.MULTILINE))
    assert {link for link in links if not {"start", "end"} & set(link)} == WANTED
    assert ("start", "build") in links
    assert ("outputs", "end") in links
    assert re.findall(r'c0_(\w+) -->\|"in any case"\| c0_(\w+)', out) == [
        ("test", "apply"),
        ("apply", "undo"),
    ]


def test_a_condition_is_shown_as_written(project: Path) -> None:
    out = wfc("graph", "deploy", "--format", "dot", cwd=project).out
    assert "condition: ${inputs.go} and ${blocks.test.succeeded}" in out
    assert "shell if ${blocks.apply.failed}" in out.replace("\\n", " ")


def test_blocks_may_be_called_as_the_ends_of_the_picture_are(tmp_path: Path) -> None:
    text = "name: w\ndescription: x\nblocks:\n" + "".join(
        f"  - {{id: {name}, type: Shell, inputs: {{command: make}}}}\n"
        for name in ("start", "end", "outputs")
    )
    (tmp_path / "w.yaml").write_text(text)
    out = wfc("graph", "w.yaml", cwd=tmp_path).out
    assert len(re.findall(r"^  c0_\w+[\[(]", out, re.MULTILINE)) == 6


def test_coverage_counts_blocks_and_names_them(project: Path) -> None:
    done = wfc("test", cwd=project)
    speaks_of_blocks(done)
    assert "steps 4/6" in done.out, done.out + done.err
    assert "`apply` being done" in done.out


def test_a_run_shows_the_blocks_that_it_comes_through(project: Path) -> None:
    ok = '{"exit_code": 0, "stdout": "", "stderr": ""}'
    answers = project / "answers.yaml"
    answers.write_text(
        "answers:\n" + "".join(f"  {name}: {ok}\n" for name in ("build", "lint", "test", "apply"))
    )
    done = wfc("run", "deploy", "--answers", answers, cwd=project)
    assert done.status == 0, done.out + done.err
    speaks_of_blocks(done)


def test_explore_names_blocks(project: Path) -> None:
    speaks_of_blocks(wfc("explore", "deploy", "--runs", "3", cwd=project))


def test_the_plan_lists_blocks(project: Path) -> None:
    done = wfc("plan", "deploy", cwd=project)
    assert re.findall(r"^ +\d+  (\w+) ", done.out, re.MULTILINE) == [
        "build", "lint", "test", "apply", "undo", "outputs"
    ]  # fmt: skip
