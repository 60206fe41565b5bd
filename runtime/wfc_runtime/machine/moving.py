"""Whether a run that waits somewhere could go on with another version of its machine."""

from __future__ import annotations

from wfc_runtime.errors import SnapshotError
from wfc_runtime.machine.ask import Ask
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Effect
from wfc_runtime.machine.legality import Legality
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.structure import structure_of


def steps_in_the_way(machine: AnyMachine, snapshot: Snapshot, was: AnyMachine | None = None) -> list[str]:
    """The steps that a run waits in and that a machine does not have, or has as something else.

    `was`: the machine that the run is on, where it is at hand; what kind of action it waits for stands there.
    """
    waiting = {one.state: visit.partition("@")[0] for visit, one in snapshot.pending.items()}
    gone = [
        waiting[one.state]
        for one in snapshot.pending.values()
        if not _still_there(machine.steps.get(one.state), one, was.steps.get(one.state) if was else None)
    ]
    if gone:
        return gone
    try:
        Legality(structure_of(machine)).check(snapshot)
    except SnapshotError:
        return list(waiting.values())
    return []


def _still_there(effect: Effect | None, pending: Pending, was: Effect | None) -> bool:
    if effect is None or isinstance(effect, Spawn) != bool(pending.children):
        return False
    if isinstance(effect, Ask) and (effect.wait_seconds is None) != (pending.resume_at is None):
        return False
    return was is None or _kind(effect) == _kind(was)


def _kind(effect: Effect) -> tuple[str, ...]:
    if isinstance(effect, Ask):
        # A question of another form can't be answered in the old one.
        return "Ask", effect.kind, str(effect.parameters.get("prompt_type", ""))
    return (type(effect).__name__,)
