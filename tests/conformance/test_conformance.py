"""The conformance suite is whole, and wfc passes it over MCP."""

from __future__ import annotations

import ast
import json
import shlex
from pathlib import Path

import pytest
import yaml
from conformance.__main__ import main, outcome_of, prepare_project
from conformance.client import serving
from conformance.report import as_json, as_table, summary
from conformance.suite import LANGUAGES, ROOT, Case, Chapter, Event, Suite, SuiteError, load, unmarked
from conformance.trying import DifferenceError, compare

from tests.forks import command

TOOLSETS = "core,author,debug"


@pytest.fixture(params=LANGUAGES)
def suite(request: pytest.FixtureRequest) -> Suite:
    return load(request.param)


ENGINES = {"sqlite": (), "temporal": ("--engine", "temporal", "--with-worker")}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_case_passes_over_mcp(
    suite: Suite,
    engine: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if engine == "temporal":
        monkeypatch.setenv("WFC_TEMPORAL_ADDRESS", request.getfixturevalue("temporal_address"))
        monkeypatch.setenv("WFC_TEMPORAL_TASK_QUEUE", f"conformance-{suite.language}")
    prepare_project(suite, tmp_path, shlex.join(command("compile")))
    cases = [case for case in suite.cases() if not case.case.engines or engine in case.case.engines]
    if engine == "temporal":
        # Verdicts do not depend on the engine, and a run takes much longer there: one for each requirement.
        runs = [case for case in cases if case.case.run is not None]
        cases = list({case.requirements[0]: case for case in reversed(runs)}.values())
    with serving(command("serve", "--toolsets", TOOLSETS, *ENGINES[engine]), tmp_path) as server:
        outcomes = [outcome_of(server, case) for case in cases]
    if engine == "sqlite":
        tried = {requirement for one in outcomes for requirement in one.case.requirements}
        assert {one.id for one in suite.requirements} == tried, "a requirement has no case"
    failed = as_table([suite], outcomes, failures_only=True)
    assert not failed, failed
    assert summary([suite], outcomes).endswith(f"{len(outcomes)} of {len(outcomes)} cases pass")
    assert all(one["holds"] for one in as_json([suite], outcomes))


def test_no_case_stands_twice(suite: Suite) -> None:
    seen: dict[str, str] = {}
    for case in suite.cases():
        what = json.dumps(
            [
                case.text,
                case.case.model_dump(mode="json", exclude={"also"}),
                [str(one) for one in case.findings],
            ]
        )
        assert what not in seen, f"{case.id} is the same as {seen[what]}"
        seen[what] = case.id


def test_the_suite_knows_nothing_of_the_implementation() -> None:
    for path in ROOT.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in getattr(node, "names", [])] + [
                getattr(node, "module", None) or ""
            ]
            assert not [name for name in names if name.partition(".")[0] in ("wfc", "wfc_runtime", "tests")]


def test_the_example_of_the_readme_is_a_chapter() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    example = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    assert [one.id for one in Chapter.model_validate(example).requirements] == ["steps-075"]
    for model in (Event, Case):
        for name, field in model.model_fields.items():
            assert f"`{field.alias or name}" in text or f"{field.alias or name}:" in text, (
                f"{name} is not described"
            )


# -- the runner finds what is wrong --------------------------------------------------


def test_marks_stand_for_findings_at_their_places() -> None:
    text, findings = unmarked("a: 1\nb: ‹WF301:error WF304›x ‹WF501›y\n")
    assert text == "a: 1\nb: x y\n"
    assert [str(one) for one in findings] == ["WF301 at 2:4", "WF304 at 2:4", "WF501 at 2:6"]
    assert [one.severity for one in findings] == ["error", "", ""]


@pytest.mark.parametrize(
    ("expected", "found", "exact"),
    [
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        ([1], [1, 2], False),
        ({"a": 1}, {}, False),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ({"$contains": "x"}, "abc", False),
        ({"$matches": "^b"}, "abc", False),
        ({"$matches": "1"}, 1, False),
        (None, 0, False),
    ],
)
def test_values_that_differ_are_told_apart(expected: object, found: object, exact: bool) -> None:
    with pytest.raises(DifferenceError):
        compare(expected, found, "it", exact=exact)


@pytest.mark.parametrize(
    ("expected", "found", "exact"),
    [
        (1, 1.0, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([{"a": 1}], [{"a": 1, "b": 2}], False),
        ({"$contains": "b"}, "abc", True),
        (None, None, True),
    ],
)
def test_values_that_are_the_same_as_json_are_equal(expected: object, found: object, exact: bool) -> None:
    compare(expected, found, "it", exact=exact)


CHAPTER = """\
title: Some
requirements:
  - id: {id}
    text: {text}
    source: somewhere
    cases: {cases}
"""
GOOD = "{one: {run: 'name: a', result: 1}}"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cases": "{}"}, "at least 1"),
        ({"cases": "{one: {result: 1}}"}, "either `check` or `run`"),
        ({"cases": "{one: {run: 'name: a', check: 'name: a'}}"}, "either `check` or `run`"),
        ({"cases": "{one: {run: 'name: a', reslt: 1}}"}, "reslt"),
        ({"cases": "{one: {run: 'name: a', columns: [a], rows: [[1, 2]]}}"}, "each column"),
        ({"cases": "{one: {run: 'name: a', rows: [[1]]}}"}, "need each other"),
        ({"cases": "{one: {run: 'name: a', script: [{step: s, refused: x}]}}"}, "needs `answer` or `do`"),
        ({"cases": "{one: {run: 'name: a', script: [{answer: 1}]}}"}, "need a `step`"),
        ({"cases": "{one: {run: 'name: a', also: [steps-999]}}"}, "no such requirement: steps-999"),
        ({"cases": "{one: {run: 'name: a'}, one: {run: 'name: b'}}"}, "stands twice"),
        ({"id": "blocks-001"}, "another language"),
        ({"id": "steps-1"}, "pattern"),
    ],
)
def test_a_wrong_file_is_refused(
    values: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps").mkdir()
    given = {"id": "steps-001", "text": "It holds.", "cases": GOOD, **values}
    text = CHAPTER
    for name, value in given.items():
        text = text.replace(f"{{{name}}}", value)
    (tmp_path / "steps" / "some.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr("conformance.suite.ROOT", tmp_path)
    with pytest.raises(SuiteError, match=message):
        load("steps")


WRONG = CHAPTER.replace("requirements:", "header: \"name: a\\nversion: '1'\\n\"\nrequirements:").replace(
    "{cases}",
    """
      verdict: {check: "steps: [{id: r, type: return, value: ‹WF301›1}]"}
      severity: {check: "steps: [{id: r, type: ‹WF007:warning›retrun, value: 1}]"}
      result: {run: "steps: [{id: r, type: return, value: 1}]", result: true}
      status: {run: "steps: [{id: r, type: return, value: 1}]", status: failed}
      refusal: {run: "steps: [{id: r, type: return, value: 1}]", start_refused: x}
      not a workflow: {run: "steps: []", result: 1}
      action: {run: "steps: [{id: s, type: shell, command: ls}]", script: [{step: s, has: {command: pwd}}]}
      kind: {run: "steps: [{id: s, type: shell, command: ls}]", script: [{step: s, type: prompt}]}
      pending: {run: "steps: [{id: s, type: shell, command: ls}]", script: [{pending: [s, z]}]}
      lacks: {run: "steps: [{id: s, type: shell, command: ls}]", script: [{step: s, lacks: [command]}]}
      accepted: {run: "steps: [{id: s, type: mcp_call, tool: t}]", script: [{step: s, answer: 1, refused: x}]}
      refused: {run: "steps: [{id: s, type: shell, command: ls}]", script: [{step: s, answer: 1}]}
      child: {run: "steps: [{id: s, type: mcp_call, tool: t}]", script: [{in: "s[0]", step: x}]}
      state: {run: "initial_state: {n: 1}\\nsteps: [{id: s, type: shell, command: ls}]", script: [{state: {n: 2}}]}
      messages: {run: "steps: [{id: s, type: say, message: hi}]", messages: [ho]}
      repeated: {run: "steps: [{id: s, type: mcp_call, tool: t}]", script: [{step: s, answer: 1, repeated: true}]}
""",
)


def test_the_runner_reports_every_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "steps").mkdir()
    wrong = WRONG.replace("{id}", "steps-001").replace("{text}", "It holds.")
    (tmp_path / "steps" / "some.yaml").write_text(wrong, encoding="utf-8")
    monkeypatch.setattr("conformance.suite.ROOT", tmp_path)
    server = shlex.join(command("serve", "--toolsets", TOOLSETS))
    assert main(["steps", "--server", server, "--json"]) == 1
    [requirement] = json.loads(capsys.readouterr().out)
    assert not requirement["holds"]
    assert [one["id"] for one in requirement["cases"] if one["passed"]] == []
    assert len(requirement["cases"]) == 16
    assert main(["steps", "--server", server, "--only", "result"]) == 1
    assert (
        "steps-001     FAIL    0/1  It holds.\n    steps-001/result: the result: expected True, found 1"
        in (capsys.readouterr().out)
    )


@pytest.mark.parametrize("option", ["--prepare", "--server"])
def test_a_program_that_does_not_start_is_no_failing_case(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["phases", "--prepare", "", option, "no-such-program"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, "no-such-program" in shown.err) == ("", True)


def test_a_checker_can_be_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    checker = shlex.join(command("check", "--format", "json"))
    server = shlex.join(command("serve", "--toolsets", TOOLSETS))
    chosen = ["steps", "--only", "steps-075", "--server", server, "--prepare", shlex.join(command("compile"))]
    assert main([*chosen, "--check", checker]) == 0
    assert "1 of 1 requirements hold, 4 of 4 cases pass" in capsys.readouterr().out


def test_the_suite_is_large_enough() -> None:
    suites = [load(language) for language in LANGUAGES]
    assert sum(len(one.requirements) for one in suites) >= 300
    assert sum(len(list(one.cases())) for one in suites) >= 600
