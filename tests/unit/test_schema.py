"""The JSON Schema says of shapes what the compiler says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support import ROOT, unit_of
from wfc.core.values import plain
from wfc.dialects.blocks.schema import blocks_schema
from wfc.schema import steps_schema
from wfc.steps import STEP_TYPES

SCHEMA = steps_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
BLOCKS = jsonschema.Draft7Validator(blocks_schema())
CASES = ROOT / "tests" / "errors"
RIGHT = [
    *(path for path in (ROOT / "workflows").glob("*.yaml") if not path.stem.endswith(".test")),
    *CASES.glob("*/good*.yaml"),
    *(ROOT / "tests/clean").glob("*.yaml"),
    *(ROOT / "tests/blocks/cases").glob("*.yaml"),
]
WRONG = [
    path
    for code in ("WF004", "WF005", "WF006", "WF007", "WF009")
    for path in CASES.glob(f"{code}/bad*.yaml")
    # What is only a warning there has the right shape.
    if not path.name.endswith(".fixed.yaml") and (code, path.name) != ("WF009", "bad_blocks.yaml")
]


def data_of(path: Path) -> Any:
    unit = unit_of(path.read_text(encoding="utf-8"))
    return plain(unit.document.root) if unit.document.root else None


def validator_of(data: Any) -> jsonschema.Draft7Validator:
    """By the schema of the language that it is written in."""
    return BLOCKS if isinstance(data, dict) and "blocks" in data else VALIDATOR


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def test_the_schema_is_a_draft_07_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator.check_schema(blocks_schema())
    assert SCHEMA["$schema"].startswith("http://json-schema.org/draft-07/")


@pytest.mark.parametrize("path", sorted(RIGHT), ids=name_of)
def test_right_workflows_are_right_by_the_schema(path: Path) -> None:
    assert [error.message for error in validator_of(data_of(path)).iter_errors(data_of(path))] == []


@pytest.mark.parametrize("path", sorted(WRONG), ids=name_of)
def test_wrong_shapes_are_wrong_by_the_schema(path: Path) -> None:
    assert not validator_of(data_of(path)).is_valid(data_of(path))


def test_every_step_type_and_field_is_described() -> None:
    kinds = SCHEMA["definitions"]["Step"]["properties"]["type"]["enum"]
    assert kinds == list(STEP_TYPES)
    for kind in kinds:
        step = SCHEMA["definitions"][f"step_{kind}"]
        assert len(step["description"]) > 40
        assert all(field.get("description") for field in step["properties"].values()), kind
