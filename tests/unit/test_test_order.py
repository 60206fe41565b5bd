"""Which tests go to one process together, and which are begun first."""

from __future__ import annotations

import pytest

from tests import conftest


@pytest.fixture
def config(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> pytest.Config:
    monkeypatch.setattr(pytestconfig.option, "dist", "loadgroup")
    monkeypatch.setattr(pytestconfig.option, "tx", ["2*popen"])
    return pytestconfig


def test_the_tests_of_a_file_that_takes_long_to_set_up_go_together(config: pytest.Config) -> None:
    scheduler = conftest.pytest_xdist_make_scheduler(config, None)
    for file in conftest.TOGETHER:
        assert {scheduler._split_scope(f"{file}.py::test_{name}") for name in "abc"} == {f"{file}.py"}


def test_all_other_tests_go_one_by_one(config: pytest.Config) -> None:
    scheduler = conftest.pytest_xdist_make_scheduler(config, None)
    ids = [
        "tests/e2e/test_ci.py::test_a",
        "tests/e2e/test_ci.py::test_b[x::y]",
        "tests/unit/test_a.py::test_a",
    ]
    assert [scheduler._split_scope(one) for one in ids] == ids


def test_other_ways_to_spread_tests_are_left_to_the_plugin(
    config: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.option, "dist", "worksteal")
    assert conftest.pytest_xdist_make_scheduler(config, None) is None
