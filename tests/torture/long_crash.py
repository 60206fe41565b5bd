"""Every write of every scenario of every shipped workflow, then random moments."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from random import Random

from tests.support import ROOT, shipped_modules
from tests.torture.crashes import (
    Figures,
    every_point,
    is_mission,
    kill_anytime,
    kill_at_points,
    states_of,
    undisturbed,
)
from tests.torture.progress import Progress
from tests.torture.retries import Retried
from tests.torture.scenarios import scenarios, scenarios_of
from tests.torture.servers import Nursery, nursery
from wfc_runtime.registry import Module

GENERATED = ROOT / "generated"
_ROUNDS = 10
"""Runs of each workflow whose servers are killed at random moments."""
_AT_ONCE = max(os.cpu_count() or 1, 2)


@dataclass
class Part:
    """What the threads share."""

    folder: Path
    rounds: int
    tell: Progress
    nurseries: SimpleQueue[Nursery] = field(default_factory=SimpleQueue)
    done: list[str] = field(default_factory=list)
    """The scenarios that are through."""


def run(folder: Path, size: float, tell: Progress) -> Iterator[str]:
    everything = Figures()
    modules = shipped_modules()
    part = Part(folder, round(_ROUNDS * size) or 1, tell)
    with ExitStack() as stack:
        for _ in range(_AT_ONCE):
            made = nursery(GENERATED, *(module.workflow.name for module in modules))
            part.nurseries.put(stack.enter_context(made))
        pool = stack.enter_context(ThreadPoolExecutor(_AT_ONCE))
        for line, figures in pool.map(partial(_with_servers, part), modules):
            yield line
            everything.add(figures)
    points = ", ".join(f"{count} {point}" for point, count in everything.points.most_common())
    yield (
        f"in all {everything.kills} kills ({points}, the others at random), {len(everything.states)} states, "
        f"{everything.answers} answers: none lost, none twice, no gap"
    )


def _with_servers(part: Part, module: Module) -> tuple[str, Figures]:
    servers = part.nurseries.get()
    try:
        return crash(part, servers, module)
    finally:
        part.nurseries.put(servers)


def crash(part: Part, servers: Nursery, module: Module) -> tuple[str, Figures]:
    name, folder, random = module.workflow.name, part.folder, Random(module.workflow.name)
    found = [undisturbed(GENERATED, folder, one) for one in scenarios_of(name)]
    figures, anytime, retried = Figures(), Figures(), Figures()
    for usual in found:
        for numbers in every_point(usual):
            kill_at_points(servers, GENERATED, folder, usual, numbers, figures)
        part.done.append(usual.scenario.label)
        part.tell(len(part.done) / len(scenarios()))
    for number in range(part.rounds):
        kill_anytime(servers, GENERATED, folder, found[number % len(found)], random, kills=6, figures=anytime)
    for number in range(0 if is_mission(module) else part.rounds):
        usual = undisturbed(GENERATED, folder, Retried(name, number))
        kill_anytime(servers, GENERATED, folder, usual, random, kills=6, figures=retried)
    every, own = {state for usual in found for state in usual.states}, states_of(module)
    assert figures.kills == sum(len(usual.kinds) for usual in found)
    assert not every - figures.states, f"never killed at {every - figures.states}"
    assert is_mission(module) or not own - every, f"no scenario comes by {own - every}"
    line = (
        f"{name:22} {len(found):2} scenarios by {len(own & figures.states)} of {len(own)} states; "
        f"killed at each of {figures.kills} writes, at {anytime.kills} random moments, and at {retried.kills} in runs "
        f"that failed and were retried; {figures.answers + anytime.answers + retried.answers} acknowledged answers kept"
    )
    figures.add(anytime)
    figures.add(retried)
    return line, figures
