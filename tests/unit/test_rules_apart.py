"""Adding a rule touches its own files and nothing else."""

from __future__ import annotations

import subprocess
import sys

from tests.support import ROOT, file_of

PLACES = ("tests/errors", "tests/clean", "tests/unit/test_suppress.py", "tests/docs/test_examples.py")
STEP = 'name: w\nversion: "1"\nsteps:\n  - {id: a, type: return, value: 1}\n'
PROBE = """
import tests.every_step
from tests.support import check
print([found.code for found in check(%r)])
"""


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_rule_that_is_added_really_reports_every_step() -> None:
    assert file_of(STEP).steps
    assert _run("-c", PROBE % STEP).stdout.strip() == "['WF888']"


def test_a_rule_that_reports_every_step_changes_no_test_of_another_rule() -> None:
    examples = "example or errors or clean or suppress"
    options = ("-q", "-p", "tests.every_step", "-p", "no:cacheprovider", "-m", "not slow", "-k", examples)
    done = _run("-m", "pytest", *options, *PLACES)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout
