"""Every write of every shipped workflow, then random moments."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.support import ROOT
from tests.torture.crashes import Figures, kill_anytime, kill_at, ways
from tests.torture.servers import nursery
from wfc_runtime.registry import Module, Registry

GENERATED = ROOT / "generated"
SEEDS = int(os.environ.get("TORTURE_SEEDS", "60"))
WAYS = int(os.environ.get("TORTURE_WAYS", "3"))
ROUNDS = int(os.environ.get("TORTURE_ROUNDS", "10"))


def run(folder: Path) -> Iterator[str]:
    everything = Figures()
    random = Random(11)
    modules = Registry(GENERATED).modules()
    with nursery(GENERATED, *(module.workflow.name for module in modules)) as servers:
        for module in modules:
            name = module.workflow.name
            found = ways(GENERATED, folder, name, range(SEEDS), WAYS)
            figures, anytime = Figures(), Figures()
            for usual in found:
                for number in range(1, len(usual.points) + 1):
                    kill_at(servers, GENERATED, folder, usual, number, figures)
            for number in range(ROUNDS):
                kill_anytime(
                    servers, GENERATED, folder, found[number % len(found)], random, kills=6, figures=anytime
                )
            own = _states(module)
            states = own & {state for usual in found for state in usual.states}
            yield (
                f"{name:22} {len(found)} ways through {len(states)} of its {len(own)} states; "
                f"killed at each of {figures.kills} writes and at {anytime.kills} random moments; "
                f"{figures.answers + anytime.answers} acknowledged answers kept"
            )
            everything.kills += figures.kills + anytime.kills
            everything.answers += figures.answers + anytime.answers
            everything.points += figures.points
    points = ", ".join(f"{count} {point}" for point, count in everything.points.most_common())
    yield f"in all {everything.kills} kills ({points}), {everything.answers} answers: none lost, none twice, no gap"


def _states(module: Module) -> set[str]:
    machines = [module.workflow.machine, *module.workflow.tasks.values()]
    return {
        state.id
        for one in machines
        for state in one.states_map.values()
        if state.is_atomic and not state.final
    }
