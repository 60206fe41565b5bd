"""Reactive files in the tools: conversion to steps, schema, editors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reactive.support import HEAD, STATE
from tests.support import ROOT, file_of
from wfc.cli.convert import kept_expressions, to_steps
from wfc.cli.schema import schema_text
from wfc.dialects import DIALECTS
from wfc.dialects.reactive.kinds import KINDS, page_of
from wfc.ir import dump
from wfc.lsp.analysis import Analysis
from wfc.lsp.hover import hover_at

CASES = ROOT / "tests" / "parity" / "cases"
SCRIPTED = f"""{HEAD}{STATE}
budget: {{usd: 5, steps: 40}}
steps:
  - {{id: a, type: conditional, condition: "{{{{ names.length > 2 }}}}", then: [{{type: exit}}]}}
  - {{id: b, type: user_message, message: "{{{{ count }}}} of {{{{ who }}}}"}}
  - {{id: c, type: state_update, path: raw.count, value: "{{{{ count }}}}"}}
"""


@pytest.mark.parametrize("name", ["tally", "asking"])
def test_references_and_literals_are_converted_without_javascript(name: str) -> None:
    file = file_of((CASES / f"{name}.reactive.yaml").read_text(encoding="utf-8"))
    text = to_steps(file)
    assert "javascript" not in text
    assert list(kept_expressions(file)) == []
    steps = file_of((CASES / f"{name}.steps.yaml").read_text(encoding="utf-8"))
    kept = file_of(text)
    assert kept.module
    assert steps.module
    assert dump(kept.module) == dump(steps.module)


def test_other_javascript_is_kept_and_each_expression_is_named_with_the_reason() -> None:
    file = file_of(SCRIPTED)
    kept = file_of(to_steps(file))
    assert kept.module
    assert file.module
    assert dump(kept.module) == dump(file.module)
    said = [line.split(": ", 2)[1:] for line in kept_expressions(file)]
    assert said == [
        ["stays JavaScript, since functions and properties of values differ", "input.split(',')"],
        ["stays JavaScript, since truth and comparisons differ", "{{ names.length > 2 }}"],
        ["stays JavaScript, since it prints values in text in its own way", "{{ count }} of {{ who }}"],
    ]


def test_the_schema_knows_every_step_type_and_both_places_of_a_workflow() -> None:
    dialect = next(one for one in DIALECTS if one.name == "reactive")
    schema = dialect.schema()
    assert {name for name in schema["definitions"] if name.startswith("step_")} == {
        f"step_{name}" for name in KINDS
    }
    assert "workflow" in schema["anyOf"][1]["properties"]
    assert "reactive_ComputedField" in schema_text("any")


def test_every_step_type_has_a_page_with_an_example() -> None:
    assert [name for name, kind in KINDS.items() if "```yaml" not in page_of(kind)] == []


# Editors.

HERE = Path("w.yaml").absolute()


def suggested(text: str) -> set[str]:
    """What is suggested at the `|` in a text whose last readable version is the whole."""
    readable = f"{HEAD}{STATE}steps:\n  - {{type: user_message, message: x}}\n"
    dialect = next(one for one in DIALECTS if one.name == "reactive")
    typed = f"{HEAD}{STATE}steps:\n{text}"
    return {
        one.text
        for one in dialect.complete(Analysis(HERE, readable), typed.replace("|", ""), typed.index("|"))
    }


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("  - type: |\n", {"shell_command", "parallel_foreach", "while"}),
        ("  - type: shell_command\n    |\n", {"command", "output_format", "state_update", "on_error"}),
        ("  - type: user_message\n    message: '{{ |'\n", {"raw", "computed", "count", "lines", "shquote"}),
        ("  - type: user_message\n    message: '{{ computed.|'\n", {"lines"}),
        ("  - type: user_message\n    message: '{{ inputs.|'\n", {"who", "size"}),
        ("  - type: conditional\n    condition: this.|\n", {"count", "lines"}),
        ("  - type: state_update\n    path: |\n", {"raw.", "this.", "global."}),
        ("  - type: state_update\n    path: raw.|\n", {"count", "names"}),
        ("  - type: shell_command\n    on_error: |\n", {"fail", "continue", "retry"}),
        ("  - type: shell_command\n    state_update:\n      |\n", {"path", "value", "operation"}),
        ("  - type: break\nbudget:\n  |\n", {"usd", "tokens", "steps", "seconds"}),
    ],
)
def test_an_editor_suggests_what_fits(text: str, wanted: set[str]) -> None:
    assert wanted <= suggested(text)


def test_hovering_over_a_type_shows_its_page() -> None:
    text = f"{HEAD}{STATE}steps:\n  - {{id: a, type: user_message, message: x}}\n"
    analysis = Analysis(HERE, text)
    found = hover_at(analysis, text.index("user_message") + 2)
    assert found is not None
    assert "The run does not wait" in str(found)
