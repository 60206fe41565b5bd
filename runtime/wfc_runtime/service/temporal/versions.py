"""Moves runs to the current version of their workflow."""

from __future__ import annotations

from contextlib import suppress

from wfc_runtime.errors import DefinitionError, RefusedError
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.registry import Module
from wfc_runtime.service.moving import definition_changed, steps_gone
from wfc_runtime.service.temporal.calls import Calls
from wfc_runtime.service.temporal.modules import Modules
from wfc_runtime.service.temporal.seed import Move, Seed
from wfc_runtime.store import RunRow


class Versions:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def migrate(self, run: str, modules: Modules, actor: str | None) -> None:
        root, _ = await self._calls.whole(run)
        status = Snapshot.from_json(root.snapshot or "").status
        if status != "running":
            raise RefusedError("finished", f"run {run} is {status}: there is nothing to move")
        current = modules.find(root.workflow)
        family = await self._family(run, root.workflow)
        gone = [step for seed in family.values() for step in _gone(current, seed, modules)]
        if gone:
            raise definition_changed(RunRow(run, root.workflow, root.digest), dict.fromkeys(gone))
        for member, seed in family.items():
            if seed.digest != current.digest:
                await self._calls.line.update(
                    member, "move", Move(current.digest, actor, self._calls.told_time()), type(None)
                )

    async def _family(self, run: str, workflow: str) -> dict[str, Seed]:
        """A run and those of its children that use the same module."""
        found: dict[str, Seed] = {}
        waiting = [run]
        while waiting:
            member = waiting.pop(0)
            seed, children = await self._calls.whole(member)
            if seed.workflow == workflow:
                found[member] = seed
                waiting += children
        return found


def _gone(current: Module, seed: Seed, modules: Modules) -> list[str]:
    if seed.digest == current.digest or seed.snapshot is None:
        return []
    row = RunRow("", seed.workflow, seed.digest, task=seed.task, agent=seed.agent)
    was = None
    with suppress(DefinitionError):
        was = modules.of_digest(seed.digest, seed.workflow)
    return steps_gone(current, row, Snapshot.from_json(seed.snapshot), was)
