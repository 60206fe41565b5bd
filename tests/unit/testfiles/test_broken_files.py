"""Test files with mistakes: each has its finding, at its place, and none breaks the check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support import ROOT
from wfc.checker import check_file
from wfc.config import CompileLimits, Config
from wfc.findings import Diagnostic
from wfc.project import Project, load_file
from wfc.testfiles.cases import read_tests
from wfc.testfiles.reader import Reader
from wfc.testfiles.schema import schema_of_tests

FLOW = b"""\
name: flow
version: "1.0.0"
inputs: {who: {type: string, default: Ann}}
steps:
  - {id: greet, type: shell, command: "echo {{ inputs.who | shquote }}", output_to: greeting}
  - {id: each, type: foreach, items: "{{ [1, 2] }}", task: one, max_items: 3, output_to: all}
  - {id: done, type: return, needs_state: [greeting, all], value: "{{ [state.greeting.stdout, state.all] }}"}
tasks:
  one:
    inputs: {n: {type: number, required: true}}
    steps:
      - {id: double, type: delegate, instructions: "{{ inputs.n }}", result_schema: {type: integer}, output_to: d}
      - {id: back, type: return, needs_state: [d], value: "{{ state.d }}"}
"""


def findings(text: str | bytes, flow: bytes = FLOW, path: str = "flow.test.yaml") -> list[Diagnostic]:
    config = Config(Path("."))
    project = Project(config)
    load_file("flow.yaml", flow, config, project)
    file = load_file(path, text.encode() if isinstance(text, str) else text, config, project)
    return check_file(file)


CASE = "  - {name: a, answers: {greet: hi, double: 1}}\n"
BROKEN = {
    "empty": ("", "WF005 1:1"),
    "comments only": ("# nothing\n\n", "WF005 1:1"),
    "null": ("null\n", "WF006 1:1"),
    "text": ("tests\n", "WF006 1:1"),
    "a list": ("- name: a\n", "WF006 1:1"),
    "a workflow": (FLOW.decode(), "WF004 1:1"),
    "tabs": ("tests:\n\t- name: a\n", "WF001 2:1"),
    "an open bracket": ("tests: [\n", "WF001"),
    "an open quote": ('tests:\n  - name: "a\n', "WF001"),
    "two documents": (f"tests:\n{CASE}---\ntests:\n{CASE}", "WF001 3:1"),
    "a tag": ("tests: !ruby/object:Gem\n  - name: a\n", "WF001 1:8"),
    "no UTF-8": (b"tests:\n  - {name: \xff\xfe}\n", "WF001"),
    "tests is a mapping": ("tests:\n  name: a\n", "WF006 2:3"),
    "tests is null": ("tests:\n", "WF006"),
    "a test is text": ("tests: [a]\n", "WF006 1:9"),
    "a test is null": ("tests: [null]\n", "WF006 1:9"),
    "a name that is a number": ("tests:\n  - {name: 1}\n", "WF006 2:12"),
    "a key twice": (f"tests:\n{CASE}answers: {{greet: a, greet: b}}\n", "WF002 3:21"),
    "a key twice in an answer": ("tests:\n  - {name: a, answers: {greet: {stdout: a, stdout: b}}}\n", "WF002 2:44"),
    "tests twice": (f"tests:\n{CASE}tests:\n{CASE}", "WF002 3:1"),
    "answers is a list": ("tests:\n  - {name: a, answers: [greet]}\n", "WF006 2:24"),
    "inputs is text": ("tests:\n  - {name: a, inputs: who}\n", "WF006 2:23"),
    "expect is a list": ("tests:\n  - {name: a, expect: [result]}\n", "WF006 2:23"),
    "expect is null": ("tests:\n  - name: a\n    expect:\n", "WF006"),
    "failure is a number": ("tests:\n  - {name: a, expect: {failure: 3}}\n", "WF006 2:33"),
    "an action is a number": ("tests:\n  - {name: a, expect: {actions: {greet: 3}}}\n", "WF006 2:41"),
    "contains is a number": ("tests:\n  - {name: a, expect: {actions: {greet: {contains: 3}}}}\n", "WF006 2:52"),
    "two steps in one entry": ("tests:\n  - {name: a, expect: {actions: [{greet: x, double: y}]}}\n", "WF006 2:34"),
    "a visit": ("tests:\n  - {name: a, answers: {greet@2: x}}\n", "WF006 2:25"),
    "now is a number": ("tests:\n  - {name: a, now: 3}\n", "WF006 2:20"),
    "now is a day that does not exist": ("tests:\n  - {name: a, now: 2026-02-30T00:00:00Z}\n", "WF006 2:20"),
    "workflow is a list": (f"workflow: [flow.yaml]\ntests:\n{CASE}", "WF006 1:11"),
    "workflow is a folder": (f"workflow: .\ntests:\n{CASE}", "WF111 1:11"),
    "workflow is itself": (f"workflow: flow.test.yaml\ntests:\n{CASE}", "WF111 1:11"),
    "an unknown anchor": ("tests:\n  - {name: a, answers: *shared}\n", "WF001 2:24"),
    "a step of a task by the wrong scope": ("tests:\n  - {name: a, answers: {two/double: 1}}\n", "WF119 2:25"),
    "an answer for a foreach": ("tests:\n  - {name: a, answers: {each: [1]}}\n", "WF119 2:25"),
    "a template for a number": ('tests:\n  - {name: a, answers: {double: "{{ 1 }}"}}\n', "WF120 2:33"),
    "one item of a list": ("tests:\n  - {name: a, answers: {double: [1, 2, x]}}\n", "WF120 2:40"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_test_file_has_its_finding_at_its_place(name: str) -> None:
    text, expected = BROKEN[name]
    found = findings(text)
    assert not any(one.is_crash for one in found), [one.message for one in found]
    places = [f"{one.code} {one.span.line}:{one.span.column}" for one in found]
    assert any(one.startswith(expected) for one in places), places


def test_anchors_and_merges_are_what_they_stand_for() -> None:
    text = """\
tests:
  - {name: a, answers: &shared {greet: hi, double: 1}}
  - {name: b, answers: *shared}
  - {name: c, answers: {<<: *shared, double: 2}}
"""
    assert findings(text) == []


def test_a_mistake_that_an_anchor_repeats_is_reported_once() -> None:
    text = "tests:\n  - {name: a, answers: &all {great: hi}}\n  - {name: b, answers: *all}\n"
    assert [(one.code, one.span.line) for one in findings(text)] == [("WF119", 2)]


def test_templates_in_a_test_file_are_text() -> None:
    text = 'tests:\n  - {name: "{{ x", answers: {greet: "{{ nothing | no_filter }}", double: 1}}\n'
    assert findings(text) == []


def test_a_huge_test_file_is_refused_or_checked_and_each_unknown_step_is_reported() -> None:
    many = "tests:\n" + "".join(
        f"  - {{name: t{number}, answers: {{gret: hi}}}}\n" for number in range(3_000)
    )
    found = findings(many)
    assert len(found) == 3_000
    assert {one.code for one in found} == {"WF119"}
    assert [one.code for one in findings(b"#" * 2_000_000)] == ["WF010"]
    assert next(one.code for one in findings("tests: " + "[" * 500)) in ("WF001", "WF010")


def test_a_test_file_of_a_workflow_that_is_no_yaml_reports_only_its_own_form() -> None:
    assert findings(f"tests:\n{CASE}", flow=b"name: [") == []
    assert [one.code for one in findings("tests:\n  - {nome: a}\n", flow=b"name: [")] == ["WF004"]


WRONG = sorted((ROOT / "tests" / "errors").glob("*/bad*.yaml"))


@pytest.mark.parametrize("path", WRONG, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_workflow_with_mistakes_breaks_no_check_of_its_tests(path: Path) -> None:
    found = findings(f"tests:\n{CASE}", flow=path.read_bytes())
    assert not any(one.is_crash for one in found), [one.message for one in found]


# The JSON Schema for editors.

SCHEMA = schema_of_tests()


def fits(text: bytes | str) -> bool:
    reader = Reader.of("x.test.yaml", text.encode() if isinstance(text, str) else text, CompileLimits())
    data: Any = reader.data(reader.root) if reader.root is not None else None
    return bool(jsonschema.Draft7Validator(SCHEMA).is_valid(json.loads(json.dumps(data))))


def test_the_schema_is_one_and_accepts_every_shipped_test_file() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    files = [
        *(ROOT / "workflows").glob("*.test.yaml"),
        *(ROOT / "tests").glob("errors/WF1*/good/*.test.yaml"),
    ]
    assert len(files) > 10
    assert [str(path) for path in files if not fits(path.read_bytes())] == []


FORM = {
    name: text for name, (text, code) in BROKEN.items() if code[:5] in ("WF004", "WF005", "WF006") and text
}


@pytest.mark.parametrize("name", [name for name in FORM if "day" not in name and "comments" not in name])
def test_the_schema_refuses_what_the_check_refuses_for_its_form(name: str) -> None:
    assert not fits(FORM[name])


def test_the_schema_and_the_reader_know_the_same_keys() -> None:
    def keys(text: str) -> set[str]:
        reader = Reader.of("x.test.yaml", text.encode(), CompileLimits())
        read_tests(reader)
        return {one.help for one in reader.reports if one.code == "WF004"}

    test = SCHEMA["properties"]["tests"]["items"]["properties"]
    expect = test["expect"]["properties"]
    every = [SCHEMA["properties"], test, expect, expect["failure"]["anyOf"][1]["properties"]]
    assert [sorted(one) for one in every] == [
        ["answers", "inputs", "tests", "workflow"],
        ["answers", "expect", "inputs", "name", "now"],
        ["actions", "failure", "result", "state"],
        ["code", "message", "step"],
    ]
    unknown = "zzzzz: 1\ntests: [{zzzzz: 1, name: a, expect: {zzzzz: 1, failure: {zzzzz: 1}}}]\n"
    assert len(keys(unknown)) == 4
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    assert [name for some in every for name in some if f"`{name}`" not in page] == []
