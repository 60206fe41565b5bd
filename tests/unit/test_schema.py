"""The JSON Schema says of shapes what the compiler says."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from tests.support import ROOT, check, file_of
from wfc.dialects import DIALECTS
from wfc.dialects.blocks.kinds import KINDS
from wfc.dialects.blocks.reference import block_page
from wfc.dialects.blocks.schema import blocks_schema
from wfc.findings import Severity
from wfc.language.schema import steps_schema
from wfc.language.steps import STEP_TYPES
from wfc.language.values import plain

SCHEMA = steps_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
VALIDATORS = {dialect.name: jsonschema.Draft7Validator(dialect.schema()) for dialect in DIALECTS}
CASES = ROOT / "tests" / "errors"
RIGHT = [
    *(path for path in (ROOT / "workflows").glob("*.yaml") if not path.stem.endswith(".test")),
    *CASES.glob("*/good*.yaml"),
    *(ROOT / "tests/clean").glob("*.yaml"),
    *(ROOT / "tests/blocks/cases").glob("*.yaml"),
]


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


WRONG = [
    path
    for code in ("WF004", "WF005", "WF006", "WF007", "WF009")
    for path in CASES.glob(f"{code}/bad*.yaml")
    # What is only a warning there has the right shape.
    if not path.name.endswith(".fixed.yaml")
    and not (code == "WF009" and path.name.startswith(("bad_blocks", "bad_reactive")))
    and name_of(path) != "WF006/bad_required.yaml"
]


def wrong_by_the_schema(path: Path) -> list[str]:
    """What the schema of the language that a file is written in says is wrong."""
    file = file_of(path.read_text(encoding="utf-8"))
    data = plain(file.document.root) if file.document.root else None
    return [error.message for error in VALIDATORS[file.dialect.name].iter_errors(data)]


def test_the_schema_is_a_draft_07_schema() -> None:
    for validator in VALIDATORS.values():
        validator.check_schema(validator.schema)
    assert SCHEMA["$schema"].startswith("http://json-schema.org/draft-07/")


def test_a_choice_without_options_is_wrong_by_the_schema() -> None:
    step = {"id": "ask", "type": "prompt", "prompt_type": "choice", "message": "Where to?"}
    file = {"name": "w", "version": "1.0.0", "steps": [step]}
    assert [error.message for error in VALIDATOR.iter_errors(file)] == ["'options' is a required property"]
    assert VALIDATOR.is_valid({**file, "steps": [{**step, "options": ["a", "b"]}]})
    assert VALIDATOR.is_valid({**file, "steps": [{**step, "prompt_type": "confirm"}]})


@pytest.mark.parametrize("path", sorted(RIGHT), ids=name_of)
def test_right_workflows_are_right_by_the_schema(path: Path) -> None:
    assert wrong_by_the_schema(path) == []


@pytest.mark.parametrize("path", sorted(WRONG), ids=name_of)
def test_wrong_shapes_are_wrong_by_the_schema(path: Path) -> None:
    assert wrong_by_the_schema(path) != []


def test_every_step_type_and_field_is_described() -> None:
    kinds = SCHEMA["definitions"]["Step"]["properties"]["type"]["enum"]
    assert kinds == list(STEP_TYPES)
    for kind in kinds:
        step = SCHEMA["definitions"][f"step_{kind}"]
        assert len(step["description"]) > 40
        assert all(field.get("description") for field in step["properties"].values()), kind


@pytest.mark.parametrize("name", KINDS)
def test_every_type_of_block_is_described_with_an_example_that_is_right(name: str) -> None:
    page = block_page(name)
    inputs = blocks_schema()["definitions"][f"inputs_{name}"]
    assert inputs["description"] == page.doc
    assert all(field.get("description") for field in inputs["properties"].values())
    text = f"name: example\nblocks:\n{page.example}"
    called = "name: run-tests\nblocks:\n  - {id: a, type: EchoBlock, inputs: {message: b}}\n"
    assert [found.message for found in check(text, called) if found.severity is not Severity.INFO] == []
    assert VALIDATORS["blocks"].is_valid(plain(file_of(text).document.root))


def test_text_compared_with_a_number_is_explained_in_the_words_of_blocks() -> None:
    block = "- {id: b, type: EchoBlock, inputs: {message: x}, depends_on: [a], condition: '${blocks.a.stdout} < 3'}"
    text = f"name: example\nblocks:\n- {{id: a, type: Shell, inputs: {{command: ls}}}}\n{block}\n"
    [found] = [one for one in check(text) if one.code == "WF207"]
    assert "state." not in found.message + found.help
    assert "|" not in found.help
