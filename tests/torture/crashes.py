"""Servers killed at every write, and at random instants: the run comes to the same end as if nothing had happened."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from threading import Timer
from typing import Any

from tests.torture.agent import Agent, Direct, story
from tests.torture.clock import clock_of
from tests.torture.retries import Retried
from tests.torture.scenarios import Scenario
from tests.torture.servers import Nursery, Server
from wfc.author.answers import given_whole
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.registry import Module, Registry
from wfc_runtime.reports import UnreadableReportError, read_report
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

Hit = tuple[str, str | None, str]
"""Workflow, task, state."""


@dataclass
class Figures:
    """What was done, to be printed."""

    runs: int = 0
    kills: int = 0
    answers: int = 0
    points: Counter[str] = field(default_factory=Counter)
    """The kinds of writes at which servers were killed."""
    states: set[Hit] = field(default_factory=set)
    """What the transactions were about to enter, or just had, in which servers were killed."""

    def add(self, other: Figures) -> None:
        self.runs += other.runs
        self.kills += other.kills
        self.answers += other.answers
        self.points += other.points
        self.states |= other.states


@dataclass(frozen=True)
class Commit:
    """One transaction: the points that it comes by, and what runs it brings into which states."""

    points: tuple[str, ...]
    states: frozenset[Hit]


@dataclass(frozen=True)
class Undisturbed:
    """How a run goes when nobody is killed: what every other one must come to."""

    scenario: Scenario | Retried
    story: list[Any]
    commits: tuple[Commit, ...]

    @property
    def states(self) -> set[Hit]:
        return {state for commit in self.commits for state in commit.states}

    @property
    def kinds(self) -> list[str]:
        """Every point of a write that it comes by."""
        return [point for commit in self.commits for point in commit.points]


def states_of(module: Module) -> set[Hit]:
    """Where a run of a workflow or of its tasks can be. Tasks that agents get whole are for these to work. A gate is
    part of the step behind it: history does not show it."""
    workflow = module.workflow
    whole = given_whole(workflow)
    machines = [(None, workflow.machine), *workflow.tasks.items()]
    return {
        (workflow.name, task, state.id)
        for task, machine in machines
        if task not in whole
        for state in machine.states_map.values()
        if state.is_atomic and not state.final and not structure_of(machine).nodes[state.id].is_gate
    }


def is_mission(module: Module) -> bool:
    """Whether it has states that its front end added for what falls short: no scenario has to reach these."""
    return "phases" in module.workflow.machine.facts


def undisturbed(generated: Path, folder: Path, scenario: Scenario | Retried) -> Undisturbed:
    place = Path(mkdtemp(prefix=f"{scenario.label}-", dir=folder))
    points: list[str] = []
    commits: list[Commit] = []
    states: set[Hit] = set()

    def hook(point: str) -> None:
        if point == "begun" and points:
            commits.append(Commit(tuple(points), frozenset(states)))
            points.clear()
            states.clear()
        points.append(point)

    service = SqliteService(
        Store(place / "state.db", hook=hook, durable=False), Registry(generated), clock=clock_of(place)
    )
    service.watch = lambda row, outcome: states.update(
        (row.workflow, row.task, state) for state in outcome.entered
    )
    agent = scenario.agent(place, lambda: Direct(service))
    end = agent.work()
    service.close()
    hook("begun")
    assert end["status"] in scenario.ends_as, f"{scenario.label}: {end}"
    return Undisturbed(scenario, story(place, generated, agent.run), tuple(commits))


def deaths_of(commits: Sequence[Commit], numbers: Sequence[int | None]) -> Iterator[tuple[int, Commit, str]]:
    """At most one death per transaction, at the point with that number: the writes that each server comes to.

    A transaction that was not committed has to be done again by the next server.
    """
    passed = 0
    for commit, number in zip(commits, numbers, strict=True):
        if number is None:
            passed += len(commit.points)
            continue
        point = commit.points[number - 1]
        yield passed + number, commit, point
        passed = 0 if point == "committed" else len(commit.points)


def every_point(usual: Undisturbed) -> Iterator[list[int | None]]:
    """Numbers for `kill_at_points` that together are all points of all transactions."""
    for number in range(1, max(len(commit.points) for commit in usual.commits) + 1):
        yield [number if number <= len(commit.points) else None for commit in usual.commits]


def one_point_each(usual: Undisturbed) -> list[int | None]:
    """Numbers for `kill_at_points`: every transaction, each at another of its points."""
    return [1 + (3 * place) % len(commit.points) for place, commit in enumerate(usual.commits)]


def kill_at_points(
    nursery: Nursery,
    generated: Path,
    folder: Path,
    usual: Undisturbed,
    numbers: Sequence[int | None],
    figures: Figures,
) -> None:
    """A server that dies at a point of the first transaction, then one at a point of the next, and so on."""
    deaths = list(deaths_of(usual.commits, numbers))
    kill_at(nursery, generated, folder, usual, [fatal for fatal, _, _ in deaths], figures)
    for _, commit, point in deaths:
        figures.points[point] += 1
        figures.states |= commit.states


def kill_at(
    nursery: Nursery, generated: Path, folder: Path, usual: Undisturbed, deaths: list[int], figures: Figures
) -> None:
    """Servers that die one after the other, each when it has come to so many writes, and one that lives."""
    fatal = iter(deaths)
    place = Path(mkdtemp(prefix=f"{usual.scenario.label}-", dir=folder))
    agent = usual.scenario.agent(
        place, lambda: nursery.server(place, fatal=next(fatal, 0)), coin=Random(sum(deaths))
    )
    agent.work()
    assert agent.deaths == len(deaths), f"it did not come to the writes {deaths}"
    finish(agent, generated, usual, figures)


def firsts_of_each_kind(usual: Undisturbed) -> list[int]:
    """The first point of each kind, and the last of all, counted from the start of the run."""
    kinds = usual.kinds
    return sorted({*(kinds.index(kind) + 1 for kind in set(kinds)), len(kinds)})


def kill_anytime(
    nursery: Nursery,
    generated: Path,
    folder: Path,
    usual: Undisturbed,
    random: Random,
    kills: int,
    figures: Figures,
) -> None:
    """Servers that are killed from outside: between two calls, or some moments into one."""
    place = Path(mkdtemp(prefix=f"{usual.scenario.label}-", dir=folder))
    left = kills
    timers: list[Timer] = []

    def around(server: Server) -> None:
        nonlocal left
        if left <= 0 or random.random() > 0.3:
            return
        left -= 1
        if random.random() < 0.3:
            # Idle: it has answered all that it was asked.
            time.sleep(random.random() / 100)
            server.kill()
            return
        timers.append(Timer(random.random() / 60, server.kill))
        timers[-1].start()

    agent = usual.scenario.agent(place, lambda: nursery.server(place), coin=random, around=around)
    agent.work()
    for timer in timers:
        timer.join()
    finish(agent, generated, usual, figures)


def _as_read(result: Any) -> Any:
    try:
        return read_report(result)
    except UnreadableReportError:
        return result


def finish(agent: Agent, generated: Path, usual: Undisturbed, figures: Figures) -> None:
    """Whatever happened on the way: the same end, by the same steps, with every acknowledged answer."""
    agent.server.kill()
    agent.server.gone()
    assert story(agent.folder, generated, agent.run) == usual.story
    service = SqliteService(Store(agent.folder / "state.db"), Registry(generated))
    try:
        for (run, step_id), result in agent.acknowledged.items():
            [kept] = [
                event
                for event in service.history(run, limit=500)["events"]
                if event["event"] == "submitted" and event["step_id"] == step_id
            ]
            # The history has a report as it was read.
            assert kept["result"] in (result, _as_read(result)), "an acknowledged answer is lost"
    finally:
        service.close()
    figures.runs += 1
    figures.kills += agent.deaths
    figures.answers += len(agent.acknowledged)
