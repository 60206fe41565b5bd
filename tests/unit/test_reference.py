"""The checks and step types as data."""

from __future__ import annotations

import json

import pytest

from wfc.cli.shared.names import topics
from wfc.language.reference import find_step, step_page
from wfc.language.steps import STEP_TYPES
from wfc.rules import RULES, find_rule


@pytest.mark.parametrize("kind", STEP_TYPES)
def test_every_step_type_has_a_page_with_an_example_and_all_its_fields(kind: str) -> None:
    page = step_page(STEP_TYPES[kind])
    assert f"type: {kind}\n" in page.doc
    assert page.summary.endswith(".")
    assert {field.name for field in page.fields} == set(STEP_TYPES[kind].FIELDS)
    assert all(field.doc and field.takes for field in page.fields)
    assert bool(page.results) == ("output_to" in STEP_TYPES[kind].FIELDS)
    json.dumps(page.to_data())


def test_what_must_be_there_comes_first() -> None:
    required = [field.required for field in step_page(STEP_TYPES["foreach"]).fields]
    assert required == sorted(required, reverse=True)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_check_is_found_by_code_and_by_name(rule: object) -> None:
    code, name = rule.code, rule.name  # type: ignore[attr-defined]
    assert find_rule(code.lower()) is rule
    assert find_rule(name.replace("-", "_")) is rule
    assert {code, name} <= set(topics())
    assert rule.to_data()["summary"].endswith(".")  # type: ignore[attr-defined]


def test_no_name_means_two_things() -> None:
    names = list(topics())
    assert len(names) == len(set(names))


def test_what_is_not_there_is_not_found() -> None:
    assert find_rule("WF999") is None
    assert find_step("shel") is None
    step = find_step("Set-State")
    assert step
    assert step.name == "set_state"
