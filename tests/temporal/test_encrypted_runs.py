"""Behavioural tests of tests/runtime on Temporal with encryption, where unencrypted payloads are refused."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import pytest

from tests.runtime import test_children, test_history, test_secrets, test_submits
from tests.runtime.support import TemporalBox
from tests.temporal.keys import OLD, text_of

for _module in (test_history, test_secrets, test_submits):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and "box" in signature(_test).parameters:
            assert _name not in globals(), _name
            globals()[_name] = _test
# Of families: each kind of message between a parent and its children, once.
test_family = test_children.test_nothing_of_a_family_is_written_twice_or_lost_across_restarts
test_failed_call = test_children.test_a_called_workflow_that_fails_is_an_error_in_the_caller
test_cancelled = test_children.test_cancelling_a_parent_cancels_its_children_and_theirs
test_queued = test_children.test_more_children_than_the_limit_are_queued_and_started_as_others_end
service = test_submits.service
"""A fixture of theirs, which takes the box from here."""


@pytest.fixture
def box(tmp_path: Path, temporal_address: str) -> Iterator[TemporalBox]:
    made = TemporalBox(tmp_path, temporal_address, key=text_of(OLD), encrypted_only=True)
    yield made
    made.close()
