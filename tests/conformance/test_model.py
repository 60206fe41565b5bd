"""The plain interpreter of tests/model agrees with the conformance suite, as the compiled machines do."""

from __future__ import annotations

import pytest
from conformance.suite import LANGUAGES, Suite, load
from conformance.trying import DifferenceError, RefusedError, try_case

from tests.conformance.plain import Plain, UnknownError, tree_of
from tests.model.flow import Tree


def others(suite: Suite) -> dict[str, Tree]:
    """The workflows that cases call."""
    found = {}
    for path in sorted((suite.project / "workflows").glob("*.yaml")):
        tree = tree_of(path.read_text(encoding="utf-8"), suite.project)
        found[tree["name"]] = tree
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_plain_interpreter_passes_every_case_of_a_run(language: str) -> None:
    suite = load(language)
    called = others(suite)
    failed = {}
    for case in suite.cases():
        if case.case.run is None:
            continue
        try:
            try_case(Plain(called, suite.project), case)
        except (DifferenceError, RefusedError, UnknownError) as difference:
            failed[case.id] = str(difference)
    assert not failed, "\n".join(f"{name}: {difference}" for name, difference in failed.items())
