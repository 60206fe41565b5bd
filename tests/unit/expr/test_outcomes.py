"""`is ok` and `outcome`: how a step has ended, by its result."""

from __future__ import annotations

import pytest

from tests.support import codes
from wfc_runtime.expr import ExpressionError, evaluate

STATE = {
    "good": {"exit_code": 0, "stdout": "x"},
    "bad": {"exit_code": 2},
    "answer": {"input": "yes"},
    "nothing": None,
    "text": "x",
}


def value(expression: str) -> object:
    return evaluate(f"{{{{ {expression} }}}}", {"state": STATE}, now=0, uuid_seed="x")


@pytest.mark.parametrize(
    ("name", "is_ok", "outcome"),
    [
        ("good", True, "success"),
        ("bad", False, "failure"),
        ("answer", True, "success"),
        ("nothing", False, "n/a"),
        ("gone", False, "n/a"),
    ],
)
def test_a_result_is_ok_unless_its_exit_code_says_otherwise(name: str, is_ok: bool, outcome: str) -> None:
    assert value(f"state.{name} is ok") is is_ok
    assert value(f"state.{name} is not ok") is not is_ok
    assert value(f"state.{name} | outcome") == outcome


@pytest.mark.parametrize("expression", ["state.text is ok", "state.text | outcome", "1 is ok"])
def test_only_results_have_an_outcome(expression: str) -> None:
    with pytest.raises(ExpressionError, match="results of steps"):
        value(expression)


FLOW = """\
name: w
version: 1.0.0
inputs: {{n: {{type: number, required: true}}}}
steps:
  - {{id: build, type: shell, command: make, output_to: build, when: "{{{{ inputs.n > 1 }}}}"}}
  - {{id: done, type: return, needs_state: [build], value: "{{{{ {expression} }}}}"}}
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("state.build is ok", []),
        ("state.build | outcome", []),
        ("state.build is ok and state.build.stdout", []),
        ("state.build is not ok and state.build.stdout", ["WF305"]),
        ("inputs.n is ok", ["WF207"]),
        ("state.build | outcome == 'failed'", ["WF210"]),
    ],
)
def test_checks_know_what_they_take_and_what_they_show(expression: str, expected: list[str]) -> None:
    found = [
        code for code in codes(FLOW.format(expression=expression)) if code in ("WF305", "WF207", "WF210")
    ]
    assert found == expected
