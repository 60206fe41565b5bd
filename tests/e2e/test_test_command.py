"""`wfc test`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.e2e.command import Result, write
from tests.e2e.command import inside as wfc

FLOW = """\
name: flow
version: "1.0.0"
inputs:
  who: {type: string, default: Ann}
steps:
  - id: greet
    type: shell
    command: "echo {{ inputs.who | shquote }}"
    retry: {max_attempts: 2, delay_seconds: 3600}
    on_error: {goto: stop}
    output_to: greeting
  - id: rest
    type: wait
    duration_seconds: 7200
  - id: stamp
    type: set_state
    updates: {at: "{{ now() }}"}
  - id: approve
    type: prompt
    prompt_type: confirm
    when: "{{ inputs.who != 'Bob' }}"
    message: "Is {{ inputs.who }} all right?"
    output_to: approval
  - id: each
    type: foreach
    items: "{{ [1, 2] }}"
    task: one
    output_to: all
  - id: done
    type: return
    needs_state: [all, at]
    value: {all: "{{ state.all }}", at: "{{ state.at }}"}
  - id: stop
    type: return
    value: stopped
tasks:
  one:
    inputs: {n: {type: number, required: true}}
    steps:
      - id: double
        type: delegate
        instructions: "Double {{ inputs.n }}"
        result_schema: {type: integer}
        output_to: doubled
      - {id: back, type: return, needs_state: [doubled], value: "{{ state.doubled }}"}
"""
TESTS = """\
answers: {double: [2, 4]}
tests:
  - name: all goes well
    now: 2026-05-01T08:00:00Z
    answers: {greet: hello, approve: true}
    expect:
      result: {all: [2, 4], at: "2026-05-01T10:00:00+00:00"}
      state: {approval: {confirmed: true}}
      actions:
        - greet: echo Ann
        - approve: {message: "Is Ann all right?", prompt_type: confirm}
        - double
        - double: {contains: "Double 2"}
  - name: Bob needs no approval
    inputs: {who: Bob}
    answers: {greet: [{error: no shell}, hello]}
    expect:
      actions: {approve: [], greet: [null, echo Bob], double: null}
  - name: two failures stop it
    answers: {greet: {timed_out: true}}
    expect: {result: stopped}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    write(tmp_path / "workflows", flow=FLOW)
    return tmp_path


def run(project: Path, tests: str, *arguments: str) -> Result:
    (project / "workflows" / "flow.test.yaml").write_text(tests)
    return wfc("test", *arguments, cwd=project)


def test_cases_are_worked_in_simulated_time_and_coverage_is_told(project: Path) -> None:
    done = run(project, TESTS, "--min-coverage", "100")
    assert done.status == 0, done.out
    assert "flow  100.0%  steps 9/9, branches 5/5\n" in done.out
    assert "3 tests passed in " in done.out
    assert not (project / ".wfc").exists()


def test_what_was_never_tried_is_named_with_its_place_and_fails_the_minimum(project: Path) -> None:
    tests = TESTS[: TESTS.index("  - name: Bob")]
    done = run(project, tests, "--min-coverage", "80")
    assert done.status == 1
    assert "    workflows/flow.yaml:6: not covered: `greet` failing and being tried again\n" in done.out
    assert (
        "    workflows/flow.yaml:6: not covered: `greet` failing, and on_error continuing at `stop`\n"
        in done.out
    )
    assert "    workflows/flow.yaml:18: not covered: `approve` being skipped, on to `each`\n" in done.out
    assert "    workflows/flow.yaml:33: not covered: step `stop`\n" in done.out
    assert "`flow` has coverage 71.4%, below 80%" in done.err
    assert run(project, tests, "--min-coverage", "70").status == 0


def test_a_workflow_without_tests_counts_as_not_covered(project: Path) -> None:
    write(project / "workflows", other="")
    done = run(project, TESTS, "--min-coverage", "1")
    assert done.status == 1
    assert "`other` has coverage 0.0%, below 1%" in done.err
    assert wfc("test", "workflows/flow.yaml", "--min-coverage", "100", cwd=project).status == 0


PARALLEL = """\
name: flow
version: "1.0.0"
steps:
  - id: checks
    type: parallel{extra}
    branches:
      tests: [{{id: test, type: mcp_call, tool: t}}]
      style: [{{id: lint, type: mcp_call, tool: t}}]
  - {{id: end, type: return, value: done}}
"""


def test_the_failure_of_a_branch_counts_at_the_parallel_step_that_handles_it(project: Path) -> None:
    tests = "tests: [{name: both pass, answers: {test: 1, lint: 1}, expect: {result: done}}]\n"
    write(project / "workflows", flow=PARALLEL.format(extra=""))
    done = run(project, tests)
    assert "flow  100.0%  steps 4/4, branches 0/0\n" in done.out
    write(project / "workflows", flow=PARALLEL.format(extra="\n    on_error: continue"))
    done = run(project, tests)
    assert "steps 4/4, branches 1/2\n" in done.out
    assert "flow.yaml:4: not covered: `checks` failing, and on_error continuing at `end`\n" in done.out


@pytest.mark.parametrize(
    ("old", "new", "place", "lines"),
    [
        (
            '[2, 4], at: "2026-05-01T10',
            '[2, 5], at: "2026-05-01T10',
            "7:15: failed: all goes well: the result is another",
            ["-     5", "+     4"],
        ),
        (
            "{confirmed: true}}",
            "{confirmed: 1}}",
            "8:25: failed: all goes well: the field `approval` is another",
            [],
        ),
        (
            "echo Ann",
            "echo Amy",
            "10:18: failed: all goes well: step `greet` asks for something else",
            ["- echo Amy"],
        ),
        (
            "Double 2",
            "Double 3",
            "13:19: failed: all goes well: what step `double` asks does not contain it",
            [],
        ),
        ("        - double\n", "", "10:9: failed: all goes well: the steps asked are others", ["+ double"]),
        ("prompt_type: confirm", "prompt_type: text", "step `approve` has another `prompt_type`", ["- text"]),
        ("approve: []", "approve: [null]", "step `approve` was asked 0 times, and should be 1 times", []),
        ("greet: [null, echo Bob]", "greet: []", "step `greet` was asked 2 times, and should be 0 times", []),
        (
            "{result: stopped}",
            "{failure: x}",
            "21:23: failed: two failures stop it: the run completed, but should fail",
            [],
        ),
        (
            "approve: true}",
            "approve: {error: away}}",
            "3:11: failed: all goes well: the run failed in step `approve`: away",
            [],
        ),
        (
            "    inputs: {who: Bob}\n",
            "",
            "the answers have nothing for step `approve` of `flow`; add `approve: <result>`",
            [],
        ),
        (
            "greet: {timed_out: true}",
            "greet: {timed_out: true}, approve: true",
            "the answer for `approve` was never used",
            [],
        ),
        ("no shell}, hello]", "no shell}, hello, more]", "2 of 3 answers for `greet` were used", []),
    ],
)
def test_a_failure_shows_expected_and_got_at_its_place_in_the_test_file(
    project: Path, old: str, new: str, place: str, lines: list[str]
) -> None:
    assert old in TESTS
    done = run(project, TESTS.replace(old, new, 1))
    assert done.status == 1
    assert place in done.out, done.out
    for line in lines:
        assert f"    {line}\n" in done.out, done.out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "tests:",
            "test:",
            "workflows/flow.test.yaml:2:1: error[WF004 unknown-field]: a test file has no key",
        ),
        ("    expect: {result", "    expcet: {result", "21:5: error[WF004 unknown-field]: a test has no key"),
        ("{result: stopped}", "{resutl: stopped}", "21:14: error[WF004 unknown-field]: `expect` has no key"),
        ("greet: hello", "great: hello", "5:15: error[WF119 test-reference]: there is no step `great`"),
        ("greet: hello", "great: hello", "help: did you mean `greet`?"),
        (
            "approve: true}",
            "approve: perhaps}",
            "5:38: error[WF120 test-mismatch]: this can't be the result of",
        ),
        ("double: [2, 4]", "double: [2, four]", "1:23: error[WF120 test-mismatch]: this can't be the result"),
        ("approve: []", "aprove: []", "18:17: error[WF119 test-reference]: there is no step `aprove` that"),
        ("state: {approval", "state: {aproval", "8:15: error[WF119 test-reference]: the state has no field"),
        ("now: 2026-05-01T08:00:00Z", "now: tomorrow", "4:10: error[WF006 wrong-type]: `now` must be a time"),
        (
            "name: Bob needs no approval",
            "name: all goes well",
            "14:11: error[WF101 duplicate-id]: there are two tests `all goes well`",
        ),
        (
            "answers: {double",
            "workflow: flwo.yaml\nanswers: {double",
            "1:11: error[WF111 unknown-workflow]: there is no workflow `workflows/flwo.yaml`",
        ),
        ("{who: Bob}", "{whom: Bob}", "15:14: error[WF119 test-reference]: the workflow has no input `whom`"),
        ("{who: Bob}", "{whom: Bob}", "help: did you mean `who`?"),
        ("{who: Bob}", "{who: 1}", "15:19: error[WF120 test-mismatch]: the input `who` is the number `1`"),
        ("prompt_type: c", "promt_type: c", "11:51: error[WF120 test-mismatch]: an action of `approve` has"),
        ("{result: stopped}", "{failure: {step: gret}}", "21:30: error[WF119 test-reference]: there is no"),
        (
            "{result: stopped}",
            "{result: stopped, failure: x}",
            "a run that fails has no result: expect one of them",
        ),
        ("  - name: all", "  - title: all", "error[WF005 missing-field]: a test needs the key `name`"),
        (TESTS, "", "1:1: error[WF005 missing-field]: the file is empty; it needs the key `tests`"),
        (TESTS, "tests: []", "1:8: error[WF005 missing-field]: there is no test in the list"),
        (TESTS, "tests: [", "error[WF001 yaml-syntax]"),
    ],
)
def test_a_mistake_in_a_test_file_is_reported_at_its_place_by_test_check_and_compile(
    project: Path, old: str, new: str, message: str
) -> None:
    assert old in TESTS
    done = run(project, TESTS.replace(old, new, 1))
    assert done.status == 1
    assert message in done.out, done.out
    assert "1 file with mistakes" in done.out
    for command in ("check", "compile"):
        other = wfc(command, "workflows/flow.test.yaml", cwd=project)
        assert (other.status, message in other.out) == (1, True), other.out + other.err


def test_a_mistake_in_one_test_does_not_keep_the_others_from_running(project: Path) -> None:
    tests = TESTS.replace("greet: hello", "great: hello").replace("result: stopped", "result: halted")
    done = run(project, tests)
    assert (done.status, "1 test passed, 1 failed, 1 not run, 1 file with mistakes" in done.out) == (1, True)
    assert "there is no step `great`" in done.out
    assert "21:22: failed: two failures stop it: the result is another" in done.out
    data = json.loads(run(project, tests, "--json").out)
    assert data["files"][0]["not_run"] == ["all goes well"]


def test_a_mistake_in_what_all_tests_share_keeps_none_of_them_from_running(project: Path) -> None:
    done = run(project, TESTS.replace("{double: [2, 4]}", "{double: [2, 4], treble: 3}"))
    assert (done.status, "3 tests passed, 1 file with mistakes" in done.out) == (1, True), done.out


def test_an_expected_mapping_inside_a_parameter_need_only_have_the_keys_that_are_named(
    tmp_path: Path,
) -> None:
    flow = """\
name: flow
version: "1.0.0"
steps:
  - id: open
    type: mcp_call
    tool: github.create_issue
    parameters: {title: Broken, labels: [bug, now], more: {body: "It broke.", draft: false}}
"""
    write(tmp_path / "workflows", flow=flow)
    path = tmp_path / "workflows" / "flow.test.yaml"

    def passes(expected: str) -> bool:
        path.write_text(
            f"tests: [{{name: a, answers: {{open: ok}}, expect: {{actions: {{open: {expected}}}}}}}]"
        )
        done = wfc("test", cwd=tmp_path)
        assert "mistakes" not in done.out, done.out
        return done.status == 0

    assert passes("{parameters: {title: Broken}}")
    assert passes("{parameters: {more: {body: {contains: broke}}, labels: {contains: bug}}}")
    assert passes("{parameters: {assignee: null}}")
    assert not passes("{parameters: {title: Whole}}")
    assert not passes("{parameters: {labels: [bug]}}")
    assert not passes("{parameters: {more: {body: {contains: whole}}}}")
    assert not passes("{parameters: {title: null}}")
    assert not passes("{parameters: {title: {nested: Broken}}}")


def test_what_a_result_must_have_is_said_where_it_is_no_mapping(tmp_path: Path) -> None:
    read = "name: read\nblocks:\n  - {id: back, type: ReadFile, inputs: {path: a.txt}}\n"
    write(tmp_path / "workflows", read=read)
    tests = "tests:\n  - {name: one, answers: {back: hello}, expect: {result: {}}}\n"
    (tmp_path / "workflows" / "read.test.yaml").write_text(tests)
    done = wfc("test", cwd=tmp_path)
    assert "this can't be the result of `back`: 'hello' is not of type 'object'" in done.out + done.err
    help = "help: write a mapping: `{content: ..., path: ..., size_bytes: ..., found: ...}`"
    assert help in done.out + done.err


def test_errors_of_the_workflow_are_shown_in_place_of_its_tests(project: Path) -> None:
    write(project / "workflows", flow=FLOW.replace("needs_state: [all, at]", "needs_state: [all]"))
    done = run(project, TESTS)
    assert (done.status, "workflows/flow.yaml:32:" in done.out, "WF301" in done.out) == (1, True, True)


def test_failures_of_a_run_are_expected_by_step_code_and_part_of_the_message(project: Path) -> None:
    write(project / "workflows", flow=FLOW.replace("    on_error: {goto: stop}\n", ""))
    right = "{step: greet, code: agent_error, message: no sh}"
    tests = f"tests:\n  - name: fails\n    answers: {{greet: {{error: no shell}}}}\n    expect: {{failure: {right}}}\n"
    assert "1 test passed" in run(project, tests).out
    assert "1 test passed" in run(project, tests.replace(right, "no shell")).out
    wrong = run(project, tests.replace("agent_error", "timeout"))
    assert (
        "4:23: failed: fails: the run failed with another code\n    - timeout\n    + agent_error\n"
        in wrong.out
    )


def test_tests_are_picked_by_name_or_workflow_and_run_in_several_processes(project: Path) -> None:
    assert "1 test passed" in run(project, TESTS, "-k", "BOB").out
    assert "3 tests passed" in run(project, TESTS, "-k", "flow").out
    write(project / "workflows", other=FLOW.replace("name: flow", "name: other"))
    (project / "workflows" / "other.test.yaml").write_text(TESTS.replace("stopped", "halted"))
    done = wfc("test", "-n", "2", "--json", cwd=project)
    data = json.loads(done.out)
    assert (done.status, data["passed"], data["failed"]) == (1, 5, 1)
    assert data["coverage"]["percent"] == 100.0
    [failure] = data["files"][1]["tests"][2]["failures"]
    assert failure == {
        "line": 21,
        "column": 22,
        "message": "the result is another",
        "expected": "halted",
        "got": "stopped",
    }


def test_junit_has_every_case_and_what_failed(project: Path) -> None:
    done = run(project, TESTS.replace("echo Ann", "echo Amy"), "--junit", "out.xml", "-q")
    assert done.status == 1
    suite = ElementTree.parse(project / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    [failed] = suite.findall("testcase[failure]")
    assert (failed.get("name"), failed.get("file"), failed.get("line")) == (
        "all goes well",
        "workflows/flow.test.yaml",
        "3",
    )
    assert "echo Amy" in str(failed[0].text)


def test_check_and_compile_take_no_test_file_for_a_workflow(project: Path) -> None:
    run(project, TESTS)
    files = sorted(str(path) for path in (project / "workflows").glob("*.yaml"))
    assert len(files) == 2
    for paths in ([], files, ["workflows"]):
        assert "\nchecked 1 workflow and 1 test file: " in wfc("check", *paths, cwd=project).out
        assert wfc("compile", *paths, cwd=project).status == 0
    assert "checked 1 test file: all clean" in wfc("check", "workflows/flow.test.yaml", cwd=project).out
    assert [path.name for path in (project / "generated").glob("*.py")] == ["flow.py"]
    done = wfc("check", "-", "--stdin-filename", "workflows/flow.test.yaml", cwd=project, stdin=TESTS)
    assert "checked 1 test file: all clean" in done.out


def test_the_findings_of_a_test_file_follow_its_workflow_in_the_cache(project: Path) -> None:
    path = project / "workflows" / "flow.test.yaml"
    path.write_text(TESTS)
    assert "WF119" not in wfc("check", "workflows", cwd=project).out
    write(project / "workflows", flow=FLOW.replace("id: approve", "id: consent"))
    assert "there is no step `approve`" in wfc("check", "workflows", cwd=project).out
    assert "there is no step `approve`" in wfc("check", "workflows", cwd=project).out
    write(project / "workflows", flow=FLOW)
    assert "WF119" not in wfc("check", "workflows", cwd=project).out
    (project / "workflows" / "flow.yaml").rename(project / "workflows" / "flaw.yaml")
    assert "did you mean `flaw.yaml`?" in wfc("check", "workflows", cwd=project).out


def test_a_test_file_may_name_a_workflow_outside_of_the_project(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (project / "workflows" / "flow.yaml").rename(other / "far.yaml")
    tests = f"workflow: ../elsewhere/far.yaml\n{TESTS}"
    assert "3 tests passed" in run(project, tests).out
    assert "checked 1 test file: all clean" in wfc("check", "workflows/flow.test.yaml", cwd=project).out
    (other / "far.yaml").write_text(FLOW.replace("id: approve", "id: consent"))
    assert "there is no step `approve`" in wfc("check", "workflows/flow.test.yaml", cwd=project).out


def test_a_comment_hides_no_error_of_a_test_file_and_the_other_findings_can_be_hidden(project: Path) -> None:
    said = TESTS.replace("hello, approve: true", "on, approve: true  # wfc: ignore[WF003]\n      ")
    assert said != TESTS
    run(project, said)
    assert "WF003" not in wfc("check", "workflows/flow.test.yaml", cwd=project).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-k", "x", "--min-coverage", "5"), "-k leaves tests out"),
        (("-k", "nothing like it"), "no test has `nothing like it` in its name"),
        (("--jobs", "many"), "--jobs takes a number from 1 to 256, or auto, not `many`"),
        (("nowhere.test.yaml",), "there is no file or folder `nowhere.test.yaml`"),
        (
            ("workflows/other.yaml",),
            "`workflows/other.yaml` has no tests: there is no `workflows/other.test.yaml`",
        ),
        (("--junit", "no/where.xml"), "can't write `no/where.xml`"),
    ],
)
def test_wrong_uses_of_test_are_told(project: Path, arguments: tuple[str, ...], message: str) -> None:
    write(project / "workflows", other="")
    done = run(project, TESTS, *arguments)
    assert (done.status, message in done.err) == (2, True), done.err


def test_a_project_without_tests_says_so(project: Path) -> None:
    done = wfc("test", cwd=project)
    assert (done.status, "there are no tests (*.test.yaml)" in done.err) == (2, True)
