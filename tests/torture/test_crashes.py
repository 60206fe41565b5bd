"""Killed at any write or at any moment, a server is followed by another, and the run comes to the same end.

These are the short versions; `make torture` goes through every write of every scenario of every shipped workflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support import ROOT, is_sampled, shipped_modules
from tests.torture.crashes import (
    Figures,
    Undisturbed,
    every_point,
    firsts_of_each_kind,
    is_mission,
    kill_anytime,
    kill_at,
    kill_at_points,
    one_point_each,
    states_of,
    undisturbed,
)
from tests.torture.retries import Retried
from tests.torture.scenarios import fewest, scenarios, scenarios_of
from tests.torture.servers import Nursery, nursery

GENERATED = ROOT / "generated"
SHIPPED = {module.workflow.name: module for module in shipped_modules()}
SAMPLE = ("analyze-codebase", "release-checks")


@pytest.fixture(scope="module")
def servers() -> Iterator[Nursery]:
    with nursery(GENERATED, *SHIPPED) as made:
        yield made


def test_every_shipped_workflow_has_scenarios() -> None:
    assert {one.workflow for one in scenarios()} == SHIPPED.keys()


@pytest.mark.parametrize("workflow", SAMPLE)
def test_killed_at_a_write_the_run_comes_to_the_same_end(
    servers: Nursery, tmp_path: Path, workflow: str
) -> None:
    usual, figures = undisturbed(GENERATED, tmp_path, scenarios_of(workflow)[0]), Figures()
    for number in firsts_of_each_kind(usual):
        kill_at(servers, GENERATED, tmp_path, usual, [number], figures)
    assert figures.kills == figures.runs == 7


def test_killed_at_random_moments_the_run_comes_to_the_same_end(servers: Nursery, tmp_path: Path) -> None:
    usual, figures = undisturbed(GENERATED, tmp_path, scenarios_of(SAMPLE[0])[0]), Figures()
    kill_anytime(servers, GENERATED, tmp_path, usual, Random(7), kills=4, figures=figures)
    assert figures.kills >= 2


def test_killed_in_every_transaction_each_failure_of_a_family_is_retried_exactly_once(
    servers: Nursery, tmp_path: Path
) -> None:
    usual, figures = undisturbed(GENERATED, tmp_path, Retried("ship-release", 1)), Figures()
    assert len(retries_of(usual)) > 3
    assert usual.story[-1][0] == "completed"
    kill_at_points(servers, GENERATED, tmp_path, usual, one_point_each(usual), figures)
    assert figures.kills == len(usual.commits)


def test_killed_at_random_moments_a_run_that_fails_is_retried_exactly_once(
    servers: Nursery, tmp_path: Path
) -> None:
    usual, figures = undisturbed(GENERATED, tmp_path, Retried("new-service", 0)), Figures()
    assert len(retries_of(usual)) == 2
    kill_anytime(servers, GENERATED, tmp_path, usual, Random(3), kills=4, figures=figures)
    assert figures.kills >= 2


def retries_of(usual: Undisturbed) -> list[Any]:
    return [event for _, events in usual.story[:-1] for event in events if event["event"] == "retried"]


def test_the_rounds_of_kills_come_by_every_write_once(tmp_path: Path) -> None:
    usual = undisturbed(GENERATED, tmp_path, scenarios_of("ship-release")[0])
    picked = [
        (place, number)
        for numbers in every_point(usual)
        for place, number in enumerate(numbers)
        if number is not None
    ]
    assert len(picked) == len(set(picked)) == len(usual.kinds)


@pytest.mark.parametrize("workflow", list(filter(is_sampled, SHIPPED)))
def test_killed_in_every_transaction_that_enters_a_state_the_run_comes_to_the_same_end(
    servers: Nursery, tmp_path: Path, workflow: str
) -> None:
    found = [undisturbed(GENERATED, tmp_path, one) for one in scenarios_of(workflow)]
    figures = Figures()
    for usual in fewest((one, one.states) for one in found):
        kill_at_points(servers, GENERATED, tmp_path, usual, one_point_each(usual), figures)
    assert figures.states == {state for usual in found for state in usual.states}
    module = SHIPPED[workflow]
    assert is_mission(module) or not states_of(module) - figures.states
