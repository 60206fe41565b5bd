"""What commands show of a blocks file is its blocks, and not the steps that stand between them in the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.command import Result, wfc
from tests.support import ROOT, is_sampled
from wfc.author.answers import write_answers
from wfc.cli.shared.workflow import find_workflow
from wfc.config import CompileLimits
from wfc.ir import Region
from wfc.testfiles.cases import Case, read_tests
from wfc.testfiles.reader import Reader

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


def test_a_condition_is_short_in_its_block_and_as_written_in_the_tip(project: Path) -> None:
    out = wfc("graph", "deploy", "--format", "dot", cwd=project).out
    assert "condition: ${inputs.go} and ${blocks.test.succeeded}" in out
    assert re.findall(r'label=("\w+\\n\w+\\nif .*?")', out) == [
        r'"apply\nShell\nif go and test.succeeded"',
        r'"undo\nShell\nif apply.failed"',
    ]


SORTS = """\
name: sorts
description: One block of each sort of performer.
inputs: {parts: {type: list, default: [a]}}
blocks:
  - {id: build, type: Shell, inputs: {command: make}}
  - {id: think, type: LLMCall, inputs: {prompt: Why?}}
  - {id: ask, type: Prompt, inputs: {prompt: Go on?}}
  - id: gate
    type: Prompt
    inputs: {prompt: Ship it?, human: true}
    condition: "{{blocks.ask.outputs.response == 'yes'}}"
    depends_on: [ask]
  - {id: each, type: CreateFile, for_each: "{{inputs.parts}}", inputs: {path: "{{each.value}}.txt", content: x}}
  - {id: child, type: Workflow, inputs: {workflow: deploy}}
"""


def test_blocks_are_shown_by_their_types_in_the_colors_of_those_who_perform_them(project: Path) -> None:
    (project / "workflows" / "sorts.yaml").write_text(SORTS)
    out = wfc("graph", "sorts", cwd=project).out
    shown = dict(re.findall(r'c0_(\w+)\["\w+<br/>([^"]*)"\]:::', out))
    colors = dict(re.findall(r"c0_(\w+)\[.*:::(\w+)Step", out))
    assert (shown["build"], colors["build"]) == ("Shell", "server")
    assert (shown["think"], colors["think"]) == ("LLMCall", "agent")
    assert (shown["ask"], colors["ask"]) == ("Prompt", "agent")
    assert shown["gate"] == "Prompt<br/>if ask.response == 'yes'"
    assert colors["gate"] == "person"
    assert (shown["each"], colors["each"]) == ("CreateFile for_each", "child")
    assert (shown["child"], colors["child"]) == ("Workflow deploy", "child")
    assert 'c1_each["each<br/>CreateFile' in out


def test_a_module_names_the_types_of_blocks_and_lists_no_part_of_one_as_deferred(project: Path) -> None:
    module = wfc("compile", "-", "--stdin-filename", "workflows/deploy.yaml", cwd=project, stdin=DEPLOY).out
    assert re.findall(r"(\w+) = State\(.*# Shell", module) == ["build", "lint", "test", "apply", "undo"]
    assert 'deferred = ("build", "lint", "test", "apply")' in module


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


SHIPPED = [
    path.stem
    for path in sorted((ROOT / "workflows").glob("*.yaml"))
    if "\nblocks:" in path.read_text(encoding="utf-8") and is_sampled(path.stem)
]


def inner_names(path: Path) -> set[str]:
    """The names that the machine of a blocks file has and its author does not know."""
    file = find_workflow(str(path))
    module, graph = file.module, file.parsed.graph if file.parsed else None
    assert module is not None
    assert graph is not None
    found: set[str] = set()

    def add(region: Region) -> None:
        for state in region.states:
            if state.id in module.main.added:
                found.update((state.id, state.title))
                found.update(dict((state.effect.arguments if state.effect else {}).get("updates") or {}))
            if state.kind == "when":
                found.add(state.id)
            for branch in state.regions:
                found.update((branch.id, branch.end))
                add(branch)

    add(module.main.root)
    return found - set(graph) - {"finished"}


def commands(path: Path, case: Case, folder: Path) -> list[tuple[str, ...]]:
    answers = folder / "answers.yaml"
    scripts = {key: [one.value for one in script.answers] for key, script in case.scripts.items()}
    answers.write_text(write_answers(case.inputs, scripts), encoding="utf-8")
    return [
        *(("graph", str(path), "--format", form) for form in ("mermaid", "dot", "svg")),
        ("test", str(path)),
        ("run", str(path), "--answers", str(answers)),
        ("explore", str(path), "--runs", "40"),
        ("plan", str(path)),
        ("plan", str(path), "--json"),
    ]


def says_no_inner_name(path: Path, folder: Path) -> None:
    inner = inner_names(path)
    beside = path.with_suffix(".test.yaml")
    tests = read_tests(Reader.of(str(beside), beside.read_bytes(), CompileLimits()))
    for arguments in commands(path, tests.cases[0], folder):
        done = wfc(*arguments, cwd=ROOT)
        assert done.status in (0, 1), done.err
        words = set(re.findall(r"[\w-]+", done.out + done.err))
        assert words & inner == set(), arguments


@pytest.mark.parametrize("name", SHIPPED)
def test_no_command_shows_a_name_of_the_machine_for_a_shipped_blocks_file(name: str, tmp_path: Path) -> None:
    says_no_inner_name(ROOT / "workflows" / f"{name}.yaml", tmp_path)


def test_no_command_shows_a_name_of_the_machine_for_conditions_on_blocks_that_failed(project: Path) -> None:
    path = project / "workflows" / "deploy.yaml"
    assert {"wave-2", "apply_tried", "apply-condition"} <= inner_names(path)
    says_no_inner_name(path, project)


def test_the_plan_shows_conditions_as_written_and_what_comes_after_blocks_side_by_side(project: Path) -> None:
    out = wfc("plan", "deploy", cwd=project).out
    assert "if lint succeeded and (${inputs.go} and ${blocks.test.succeeded}) -> apply, else -> undo" in out
    assert "if ${blocks.apply.failed} -> undo, else -> outputs" in out
    assert "if build succeeded -> test, else -> apply" in out


def test_the_plan_of_steps_names_the_branch_that_ends() -> None:
    out = wfc("plan", "release-checks", cwd=ROOT).out
    assert "-> draft-section, else -> the end of changelog" in out
