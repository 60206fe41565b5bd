"""Exploring gets past parsed JSON, starts from what people wrote down, and says what it did not reach and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.explore.support import HEAD, explored
from wfc.cli.main import cli
from wfc.config import load_config
from wfc.workspace.files import Selection
from wfc.workspace.loading import load_project

GATE = Path(__file__).parent / "release_gate.yaml"


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["explore", *map(str, arguments), "--no-progress"], standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.return_value, done.stdout


def branches(path: Path, *arguments: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(run(path, "--json", *arguments)[1])["branches"]
    return found


def test_over_nine_tenths_of_the_branches_of_a_large_workflow_that_reads_parsed_json_are_reached() -> None:
    [file] = load_project(Selection.of_file(load_config(GATE.parent), GATE))[1].values()
    assert len(file.steps) >= 49
    found = branches(GATE, "--runs", "300")
    assert found["all"] >= 33  # type: ignore[operator]
    assert found["reached"] / found["all"] > 0.9, found["not_reached"]  # type: ignore[operator]


READ = f"{HEAD}steps:\n  - {{id: get, type: shell, command: show, output_to: got}}\n"
DECISIONS = {
    "two keys of one text": (
        "{{ (state.got.stdout | parse_json).a == 1 and (state.got.stdout | parse_json).b == 'x' }}",
        2,
    ),
    "nested objects": ("{{ (state.got.stdout | parse_json).a.b.c.d >= 10 }}", 2),
    "a key by subscript": ("{{ (state.got.stdout | parse_json)['a-b'] == 'yes' }}", 2),
    "a key that may be missing": ("{{ (state.got.stdout | parse_json).get('n', 0) > 3 }}", 2),
    "a default": ("{{ (state.got.stdout | parse_json).n | default(0) > 3 }}", 2),
    "an item": ("{{ (state.got.stdout | parse_json)[0].name == 'first' }}", 2),
    "a list at the top": ("{{ state.got.stdout | parse_json | length == 3 }}", 2),
    "objects in a list": (
        "{{ (state.got.stdout | parse_json).items | selectattr('level', 'equalto', 'high') | list | length > 1 }}",
        2,
    ),
    "a name among those of objects": (
        "{{ 'hold' in ((state.got.stdout | parse_json).labels | map(attribute='name') | list) }}",
        2,
    ),
    "a sum": ("{{ (state.got.stdout | parse_json).rows | sum(attribute='size') > 0 }}", 2),
    "a difference": ("{{ (state.got.stdout | parse_json).total - 5 > 10 }}", 2),
    "JSON in JSON": ("{{ ((state.got.stdout | parse_json).body | parse_json).ok == true }}", 2),
    "a pattern in a key": ("{{ (state.got.stdout | parse_json).ref | regex_search('^v[0-9]+$') }}", 2),
    "a text that is trimmed": ("{{ (state.got.stdout | trim | parse_json).ok }}", 2),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_both_ways_of_a_decision_about_parsed_json_are_taken(name: str) -> None:
    condition, wanted = DECISIONS[name]
    text = f"""{READ}  - id: decide
    type: condition
    needs_state: [got]
    if: {json.dumps(condition)}
    then: [{{id: yes, type: return, value: 1}}]
  - {{id: end, type: return, value: 2}}
"""
    report = explored(text, runs=60)
    assert (report.reached, report.branches) == (wanted, wanted), report.unreached


def test_items_of_a_parsed_list_reach_the_branches_of_their_task() -> None:
    text = f"""{HEAD}steps:
  - {{id: get, type: shell, command: show, output_to: got}}
  - id: read
    type: set_state
    needs_state: [got]
    updates: {{rows: "{{{{ (state.got.stdout | parse_json).rows }}}}"}}
  - {{id: each, type: foreach, needs_state: [rows], items: "{{{{ state.rows }}}}", task: one, max_items: 5}}
tasks:
  one:
    inputs: {{kind: {{type: string, required: true}}, size: {{type: number, required: true}}}}
    steps:
      - id: by-kind
        type: condition
        if: "{{{{ inputs.kind == 'file' and inputs.size > 100 }}}}"
        then: [{{id: big, type: return, value: big}}]
      - {{id: other, type: return, value: other}}
"""
    report = explored(text, runs=100)
    assert report.reached == report.branches == 2, report.unreached


BLOCKS = """\
name: w
description: Blocks that fail.
blocks:
  - {id: deploy, type: Shell, inputs: {command: make deploy}}
  - {id: health, type: Shell, inputs: {command: make health}, depends_on: [deploy]}
  - id: undo
    type: Shell
    inputs: {command: make undo}
    condition: ${blocks.deploy.failed} or ${blocks.health.failed}
    depends_on: [{block: deploy, required: false}, {block: health, required: false}]
  - id: tell
    type: Shell
    inputs: {command: make tell}
    condition: ${blocks.undo.succeeded}
    depends_on: [{block: undo, required: false}]
"""


def test_failures_of_blocks_are_tried(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(BLOCKS, encoding="utf-8")
    found = branches(path, "--runs", "200")
    assert found["not_reached"] == []
    assert found["all"] == found["reached"]


SECRET = f"""{READ}  - id: decide
    type: condition
    needs_state: [got]
    if: "{{{{ state.got.stdout | hash == '2c26b46b68ffc68f' }}}}"
    then:
      - {{id: ask, type: prompt, prompt_type: confirm, message: "Go on?", output_to: answer}}
      - id: confirmed
        type: condition
        needs_state: [answer]
        if: "{{{{ state.answer.confirmed }}}}"
        then: [{{id: yes, type: return, value: 1}}]
  - {{id: end, type: return, value: 2}}
"""


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "w.yaml"
    path.write_text(SECRET, encoding="utf-8")
    return path


def test_what_is_not_reached_is_listed_with_the_reason_and_counted(secret: Path) -> None:
    status, out = run(secret, "--runs", "50")
    assert status == 0
    assert (
        ":5: not reached in 50 runs: step decide of w, then: its condition was never true: {{ state.got"
        in out
    )
    assert ":11: not reached in 50 runs: step confirmed of w, then: no run reached it" in out
    assert (
        "w: no problem, 1 of 4 branches reached (3 not: 2 because no run reached it, 1 because its condition was "
        "never true), 50 runs with seed 0" in out
    )
    reasons = [one["why"] for one in branches(secret, "--runs", "50")["not_reached"]]  # type: ignore[attr-defined]
    assert sorted(reasons) == ["never true", "not come to", "not come to"]


@pytest.mark.parametrize("answer", ["foo", "{stdout: foo, exit_code: 0}", "[foo]"])
def test_the_tests_beside_a_workflow_are_tried_first_and_varied(secret: Path, answer: str) -> None:
    tests = f"tests:\n  - {{name: a, answers: {{get: {answer}, ask: true}}}}\n"
    (secret.parent / "w.test.yaml").write_text(tests, encoding="utf-8")
    found = branches(secret, "--runs", "50")
    assert (found["reached"], found["all"]) == (4, 4)


def test_answers_files_are_tried_first_and_varied(secret: Path) -> None:
    answers = secret.parent / "answers.yaml"
    answers.write_text("answers: {get: foo, w/ask: false}\n", encoding="utf-8")
    found = branches(secret, "--runs", "50", "--answers", str(answers))
    assert (found["reached"], found["all"]) == (4, 4)


def test_a_mistake_in_an_answers_file_ends_the_command_and_one_in_a_test_file_does_not(secret: Path) -> None:
    answers = secret.parent / "answers.yaml"
    answers.write_text("answers: {gat: foo}\n", encoding="utf-8")
    done = CliRunner().invoke(cli, ["explore", str(secret), "--answers", str(answers)], standalone_mode=False)
    assert done.return_value == 2
    assert "there is no step `gat`" in done.stderr
    for text in ("tests: [", "tests: [{name: a, answers: {gat: 1}}]", "tests: [{nome: a}]", ""):
        (secret.parent / "w.test.yaml").write_text(text, encoding="utf-8")
        assert run(secret, "--runs", "20")[0] == 0


def test_a_branch_that_nothing_can_lead_to_is_a_problem_and_no_missing_branch(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        f'{READ}  - {{id: never, type: condition, if: "{{{{ false }}}}", then: [{{id: a, type: return, value: 1}}]}}\n'
        "  - id: clock\n    type: condition\n    if: \"{{ now().isoformat() < '2000' }}\"\n"
        "    then: [{id: b, type: return, value: 1}]\n  - {id: end, type: return, value: 2}\n",
        encoding="utf-8",
    )
    status, out = run(path, "--runs", "40")
    assert (status, "a branch can't be reached" in out) == (1, True)
    assert "step clock of w, then: its condition depends on no answer or input" in out
    assert "2 of 3 branches reached (1 not: 1 because its condition depends on no answer" in out
