"""Servers killed at every write, and at random instants: the run comes to the same end as if nothing had happened."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

from tests.torture.agent import Agent, Direct, story
from tests.torture.clock import clock_of
from tests.torture.servers import Nursery, Server
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store


@dataclass
class Figures:
    """What was done, to be printed."""

    runs: int = 0
    kills: int = 0
    answers: int = 0
    points: Counter[str] = field(default_factory=Counter)
    """The kinds of writes at which servers were killed."""


@dataclass(frozen=True)
class Undisturbed:
    """How a run goes when nobody is killed: what every other one must come to."""

    workflow: str
    seed: str
    story: list[Any]
    points: list[str]
    """Every point of a write that it comes by."""
    states: set[str]


def ways(generated: Path, folder: Path, workflow: str, seeds: Iterable[int], most: int) -> list[Undisturbed]:
    """Of runs with different answers, the few that together come by the most states."""
    found = [_undisturbed(generated, folder, workflow, str(seed)) for seed in seeds]
    chosen: list[Undisturbed] = []
    seen: set[str] = set()
    while len(chosen) < most:
        best = max(found, key=lambda one: len(one.states - seen))
        if not best.states - seen:
            break
        chosen.append(best)
        seen |= best.states
    return chosen


def _undisturbed(generated: Path, folder: Path, workflow: str, seed: str) -> Undisturbed:
    place = folder / f"{workflow}-{seed}"
    place.mkdir()
    points: list[str] = []
    service = SqliteService(
        Store(place / "state.db", hook=points.append), Registry(generated), clock=clock_of(place)
    )
    agent: Agent = Agent(place, workflow, lambda: Direct(service), seed=seed)
    agent.work()
    service.close()
    told = story(place, generated, agent.run)
    entered = (event.get("entered", ()) for _, events in told[:-1] for event in events)
    states = {state for some in entered for state in some}
    return Undisturbed(workflow, seed, told, points, states)


def kill_at(
    nursery: Nursery, generated: Path, folder: Path, usual: Undisturbed, point: int, figures: Figures
) -> None:
    """A server that dies at its write number `point`, and another one after it."""
    fatal = iter([point])
    place = folder / f"{usual.workflow}-{usual.seed}-at-{point}"
    place.mkdir()
    agent = Agent(
        place,
        usual.workflow,
        lambda: nursery.server(place, fatal=next(fatal, 0)),
        seed=usual.seed,
        coin=Random(point),
    )
    agent.work()
    assert agent.deaths == 1, f"it did not come to write {point}"
    finish(agent, generated, usual, figures)
    figures.points[usual.points[point - 1]] += 1


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
    place = folder / f"{usual.workflow}-{random.random()}"
    place.mkdir()
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

    agent = Agent(
        place, usual.workflow, lambda: nursery.server(place), seed=usual.seed, coin=random, around=around
    )
    agent.work()
    for timer in timers:
        timer.join()
    finish(agent, generated, usual, figures)


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
            assert kept["result"] == result, "an acknowledged answer is lost"
    finally:
        service.close()
    figures.runs += 1
    figures.kills += agent.deaths
    figures.answers += len(agent.acknowledged)
