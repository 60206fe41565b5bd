"""Generated modules under the type checker: clean as they are, and misuse is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from mypy import api

from tests.support import ROOT

MODULES = sorted((ROOT / "generated").glob("*.py"))


def mypy(*paths: Path, cache: Path, path: Path | None = None) -> str:
    import os

    os.environ["MYPYPATH"] = str(path or "")
    out, err, _ = api.run(["--strict", "--no-error-summary", "--cache-dir", str(cache), *map(str, paths)])
    return out + err


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def test_every_shipped_module_passes_mypy_strict(cache: Path) -> None:
    assert mypy(*MODULES, cache=cache) == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
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
    ],
)
def test_misuse_of_a_generated_module_fails_mypy(
    cache: Path, tmp_path: Path, line: str, message: str
) -> None:
    user = tmp_path / "user.py"
    user.write_text(f"from pr_automation import Inputs, PrAutomation\n\n{line}\n")
    assert message in mypy(user, cache=cache, path=ROOT / "generated")


def test_right_use_of_a_generated_module_passes_mypy(cache: Path, tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text(
        "from pr_automation import Inputs, PrAutomation\n\n"
        "values: dict[str, object] = PrAutomation.start_values(Inputs(owner='o', repo='r', pr_number=7))\n"
        "decision: str = PrAutomation.view({}).decision\n"
    )
    assert mypy(user, cache=cache, path=ROOT / "generated") == ""
