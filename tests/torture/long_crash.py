"""Every write of every scenario of every shipped workflow, then random moments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from random import Random

from tests.support import ROOT
from tests.torture.crashes import Figures, every_point, kill_anytime, kill_at_points, states_of, undisturbed
from tests.torture.scenarios import scenarios_of
from tests.torture.servers import Nursery, nursery
from wfc_runtime.registry import Module, Registry

GENERATED = ROOT / "generated"
ROUNDS = int(os.environ.get("TORTURE_ROUNDS", "10"))
"""Runs of each workflow whose servers are killed at random moments."""
AT_ONCE = max(os.cpu_count() or 1, 2)


def run(folder: Path) -> Iterator[str]:
    everything = Figures()
    modules = Registry(GENERATED).modules()
    nurseries: SimpleQueue[Nursery] = SimpleQueue()
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(AT_ONCE))
        for _ in range(AT_ONCE):
            made = nursery(GENERATED, *(module.workflow.name for module in modules))
            nurseries.put(stack.enter_context(made))
        for line, figures in pool.map(_borrowing(nurseries, folder), modules):
            yield line
            everything.add(figures)
    points = ", ".join(f"{count} {point}" for point, count in everything.points.most_common())
    yield (
        f"in all {everything.kills} kills ({points}, the others at random), {len(everything.states)} states, "
        f"{everything.answers} answers: none lost, none twice, no gap"
    )


def _borrowing(nurseries: SimpleQueue[Nursery], folder: Path) -> Callable[[Module], tuple[str, Figures]]:
    def work(module: Module) -> tuple[str, Figures]:
        servers = nurseries.get()
        try:
            return crash(servers, folder, module)
        finally:
            nurseries.put(servers)

    return work


def crash(servers: Nursery, folder: Path, module: Module) -> tuple[str, Figures]:
    name, random = module.workflow.name, Random(module.workflow.name)
    found = [undisturbed(GENERATED, folder, one) for one in scenarios_of(name)]
    figures, anytime = Figures(), Figures()
    for usual in found:
        for numbers in every_point(usual):
            kill_at_points(servers, GENERATED, folder, usual, numbers, figures)
    for number in range(ROUNDS):
        kill_anytime(servers, GENERATED, folder, found[number % len(found)], random, kills=6, figures=anytime)
    every, own = {state for usual in found for state in usual.states}, states_of(module)
    assert figures.kills == sum(len(usual.kinds) for usual in found)
    assert not every - figures.states, f"never killed at {every - figures.states}"
    assert not own - every, f"no scenario comes by {own - every}"
    line = (
        f"{name:22} {len(found):2} scenarios by {len(own & figures.states)} of {len(own)} states; "
        f"killed at each of {figures.kills} writes and at {anytime.kills} random moments; "
        f"{figures.answers + anytime.answers} acknowledged answers kept"
    )
    figures.add(anytime)
    return line, figures
