"""A step type is one file and one line in the registry; this says what else it needs to be complete."""

from __future__ import annotations

import json
import re
import textwrap

import pytest

from tests.support import ROOT, check, file_of
from wfc.findings import Severity
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Step
from wfc_runtime.picture.model import COLORS

EXAMPLE = re.compile(r"```yaml\n(.*?)```", re.S)

# What the examples may count on: inputs, fields that earlier steps have written, and places to go to.
BEFORE = """\
name: example
version: "1.0.0"
inputs:
  service: {type: string, required: true}
  suite: {type: string, required: true}
initial_state: {results: [1, 2], modules: [core, web]}
steps:
  - {id: first-tests, type: shell, command: make test, output_to: tests}
  - {id: first-build, type: shell, command: make, output_to: build}
  - {id: first-look, type: shell, command: ./health, output_to: health}
  - {id: first-plan, type: delegate, instructions: "Make a plan.", output_to: plan}
  - {id: first-summary, type: mcp_call, tool: notes.read, output_to: summary}
  - {id: first-before, type: git_snapshot, output_to: before}
  - {id: improve, type: delegate, instructions: "Improve it."}
"""
IN_A_LOOP = """\
  - id: loop
    type: while
    needs_state: [results]
    if: "{{ state.results | length < 5 }}"
    max_iterations: 5
    steps:
"""
AFTER = """\
  - {id: give-up, type: return}
tasks:
  audit_module:
    steps:
      - {id: look, type: delegate, instructions: "Audit {{ item }}."}
"""
CALLED = """\
name: deploy-service
version: "1.0.0"
inputs:
  service: {type: string, required: true}
steps:
  - {id: deploy, type: shell, command: "./deploy {{ inputs.service | shquote }}"}
"""

each_kind = pytest.mark.parametrize("kind", STEP_TYPES)
each_field = pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, step in STEP_TYPES.items() for name in step.FIELDS]
)


def example_of(step: type[Step]) -> str:
    found = EXAMPLE.search(textwrap.dedent(step.__doc__ or ""))
    assert found, "the docstring has no example"
    return textwrap.dedent(found[1])


@each_kind
def test_a_step_type_says_what_it_is(kind: str) -> None:
    step = STEP_TYPES[kind]
    assert step.kind == kind
    assert kind in step.label
    assert step.color in COLORS
    assert (step.__doc__ or "").split("\n")[0].endswith(".")


@each_kind
def test_its_example_is_right(kind: str) -> None:
    example = example_of(STEP_TYPES[kind])
    loop, indent = (IN_A_LOOP, 6) if kind in ("break", "continue") else ("", 2)
    before = BEFORE + loop
    text = before + textwrap.indent(example, " " * indent) + AFTER
    assert kind in [step.kind for step in file_of(text).steps if not step.name.startswith("first-")]
    first = before.count("\n") + 1
    last = first + example.count("\n")
    wrong = [
        f"{found.code} line {found.span.line}: {found.message}"
        for found in check(text, CALLED)
        if found.severity is not Severity.INFO and found.path == "w1.yaml" and first <= found.span.line < last
    ]
    assert wrong == []


@each_kind
def test_it_has_a_golden_case(kind: str) -> None:
    text = (ROOT / "tests" / "golden" / kind / "workflow.yaml").read_text(encoding="utf-8")
    assert kind in [step.kind for step in file_of(text).steps]


@each_kind
def test_it_has_an_error_case(kind: str) -> None:
    cases = (ROOT / "tests" / "errors").glob("WF*/bad*.yaml")
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in cases if "fixed" not in path.name)
    assert any(re.search(rf"\btype: {kind}\b", text) for text in texts)


@each_field
def test_every_field_has_a_sentence_of_documentation(kind: str, name: str) -> None:
    doc = STEP_TYPES[kind].FIELDS[name].doc
    assert doc[0].isupper() or doc[0] == "`"
    assert doc.endswith(".")


@each_field
def test_every_field_has_a_json_schema(kind: str, name: str) -> None:
    field = STEP_TYPES[kind].FIELDS[name]
    assert isinstance(json.loads(json.dumps(field.type.schema())), dict)
    assert field.type.words
