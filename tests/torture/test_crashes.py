"""Killed at any write or at any moment, a server is followed by another, and the run comes to the same end.

These are the short versions; `make torture` goes through every write of every shipped workflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.support import ROOT
from tests.torture.agent import INPUTS
from tests.torture.crashes import Figures, Undisturbed, kill_anytime, kill_at, ways
from tests.torture.servers import Nursery, nursery
from wfc_runtime.machine.inputs import check_inputs
from wfc_runtime.machine.limits import Limits
from wfc_runtime.registry import Registry

GENERATED = ROOT / "generated"
WORKFLOWS = ("analyze-codebase", "release-checks")


@pytest.fixture(scope="module")
def servers() -> Iterator[Nursery]:
    with nursery(GENERATED, *WORKFLOWS) as made:
        yield made


def way(folder: Path, workflow: str) -> Undisturbed:
    [found] = ways(GENERATED, folder, workflow, range(1), 1)
    return found


def test_every_shipped_workflow_can_be_started_by_the_agent_of_these_tests() -> None:
    for module in Registry(GENERATED).modules():
        check_inputs(module.workflow.machine, INPUTS.get(module.workflow.name, {}), Limits())


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_killed_at_a_write_the_run_comes_to_the_same_end(
    servers: Nursery, tmp_path: Path, workflow: str
) -> None:
    usual, figures = way(tmp_path, workflow), Figures()
    # The first of each kind, and the last of all.
    firsts = {point: number for number, point in reversed(list(enumerate(usual.points, 1)))}
    for number in sorted({*list(firsts.values())[:3], len(usual.points)}):
        kill_at(servers, GENERATED, tmp_path, usual, number, figures)
    assert figures.kills == figures.runs == 4


def test_killed_at_random_moments_the_run_comes_to_the_same_end(servers: Nursery, tmp_path: Path) -> None:
    figures = Figures()
    kill_anytime(
        servers, GENERATED, tmp_path, way(tmp_path, WORKFLOWS[0]), Random(7), kills=4, figures=figures
    )
    assert figures.kills >= 2
