"""Generated modules under the type checker: clean as they are, and misuse is found."""

from __future__ import annotations

import pytest

from tests.support import ROOT
from tests.type_checker import mypy

MODULES = sorted((ROOT / "generated").glob("*.py"))
MISUSES = [
    (
        'Inputs(owner="o", repo="r", pr_number="seven")',
        'Argument "pr_number" to "Inputs" has incompatible type "str"',
    ),
    ("Inputs()", 'Missing named argument "pr_number" for "Inputs"'),
    (
        'Inputs(owner="o", repo="r", pr_number=7, pr_numer=8)',
        'Unexpected keyword argument "pr_numer" for "Inputs"',
    ),
    ("PrAutomation.view({}).no_such_field", '"Fields" has no attribute "no_such_field"'),
    ("PrAutomation.view({}).decision + 1", 'Unsupported operand types for + ("str" and "int")'),
    (
        "PrAutomation.start_values(3)",
        'Argument 1 to "start_values" of "Machine" has incompatible type "int"',
    ),
]
RIGHT = """\
values: dict[str, object] = PrAutomation.start_values(Inputs(owner='o', repo='r', pr_number=7))
decision: str = PrAutomation.view({}).decision
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What is said of all shipped modules and all uses, each in its own file."""
    folder = tmp_path_factory.mktemp("uses")
    uses = {f"misuse_{number}": line for number, (line, _) in enumerate(MISUSES)}
    for name, text in {**uses, "right_use": RIGHT}.items():
        (folder / f"{name}.py").write_text(f"from pr_automation import Inputs, PrAutomation\n\n{text}\n")
    return mypy(*MODULES, *folder.iterdir(), path=ROOT / "generated").splitlines()


def test_every_shipped_module_passes_mypy_strict(said: list[str]) -> None:
    assert MODULES
    assert [line for line in said if "misuse_" not in line and "right_use" not in line] == []


@pytest.mark.parametrize("number", range(len(MISUSES)), ids=[line for line, _ in MISUSES])
def test_misuse_of_a_generated_module_fails_mypy(said: list[str], number: int) -> None:
    _, message = MISUSES[number]
    assert any(f"misuse_{number}.py:3: error: {message}" in line for line in said)


def test_right_use_of_a_generated_module_passes_mypy(said: list[str]) -> None:
    assert [line for line in said if "right_use" in line] == []
