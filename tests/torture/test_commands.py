"""Killed while it runs commands itself, a server is followed by one that tells so and runs nothing twice by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.torture.commands import Figures, Told, check, kill_anytime, points_of, project, work
from tests.torture.servers import Nursery, nursery


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("commands"))


@pytest.fixture(scope="module")
def servers(generated: Path) -> Iterator[Nursery]:
    with nursery(generated, "chain", "again") as made:
        yield made


def killed_at(servers: Nursery, generated: Path, folder: Path, workflow: str, kind: str, nth: int) -> Told:
    """A run whose first server dies at the nth write of a kind."""
    points_of(servers, generated, folder, workflow, Figures())
    [notes] = folder.glob(f"{workflow}-*/notes")
    found = [place for place, point in enumerate(notes.read_text().split(), 1) if point == kind]
    told = work(servers, generated, folder, workflow, [found[nth - 1]])
    assert told.deaths == 1
    check(told, Figures())
    return told


@pytest.mark.parametrize("workflow", ["chain", "again"])
def test_killed_between_its_claim_and_its_start_a_command_is_interrupted(
    servers: Nursery, generated: Path, tmp_path: Path, workflow: str
) -> None:
    # The run's start is the first transaction, the claim of its first command the second.
    told = killed_at(servers, generated, tmp_path, workflow, "committed", 2)
    assert told.visits("interrupted", "a") == ["a"]
    if workflow == "chain":
        assert told.reply["status"] == "completed"
        assert told.did("+", "a") == 0
    else:
        assert told.reply["status"] == "completed"
        assert told.visits("submitted", "a") == ["a@2"]
        assert told.did("+", "a") == 1


@pytest.mark.parametrize("workflow", ["chain", "again"])
def test_killed_before_the_result_is_stored_a_command_is_run_again_only_if_its_rule_says_so(
    servers: Nursery, generated: Path, tmp_path: Path, workflow: str
) -> None:
    # The third transaction would store what the first command brought.
    told = killed_at(servers, generated, tmp_path, workflow, "begun", 3)
    assert told.visits("interrupted", "a") == ["a"]
    if workflow == "chain":
        assert told.reply["status"] == "completed"
        assert (told.did("+", "a"), told.did("-", "a")) == (1, 1)
    else:
        assert told.reply["status"] == "completed"
        assert told.did("-", "a") == 2


@pytest.mark.parametrize("workflow", ["chain", "again"])
def test_killed_at_any_moment_what_the_history_says_is_what_the_commands_did(
    servers: Nursery, generated: Path, tmp_path: Path, workflow: str
) -> None:
    figures = Figures()
    for seed in range(3):
        kill_anytime(servers, generated, tmp_path, workflow, Random(seed), figures)
    assert figures.kills
    assert figures.runs == 3
