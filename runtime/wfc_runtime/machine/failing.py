"""The handling of a failed run, before it ends: collect the error, start over, or execute the steps of its handler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wfc_runtime.contract import Json
from wfc_runtime.machine.change import FieldUpdate, Resolved
from wfc_runtime.machine.effects import Effect
from wfc_runtime.machine.values import size_of

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run

HANDLE, START_OVER = "handle_failure", "start_over"
"""The events that lead to the first step of the handler, and to the state that starts the run over."""
ERROR = "error"
"""The name of the error in expressions of the handler."""


@dataclass(frozen=True, kw_only=True)
class Failing:
    """The handling of a failure."""

    collect: Sequence[Json] = ()
    """The path of a list that gets the error first."""
    restarts: int = 0
    """How often the run starts over instead of failing."""
    handler: bool = False
    """Whether it has steps to execute before it fails."""
    completes: bool = False
    """Whether it then ends as completed."""


@dataclass(frozen=True, kw_only=True)
class StartOver(Effect):
    """Begin the run again with its initial values. The errors that were collected are kept."""

    keeps: tuple[str, ...] = ()

    def enter(self, run: Run, state: str) -> None:
        snapshot, structure = run.snapshot, run.structure
        # A deep copy through JSON, as at the first start: the initial values belong to the class and are
        # shared by all runs.
        initial = json.loads(json.dumps(dict(structure.initial_values)))
        # A field that was written stays, as null: a store can't represent missing fields.
        fields = dict.fromkeys(snapshot.state) | initial
        fields |= {name: snapshot.state[name] for name in self.keeps if name in snapshot.state}
        # Nothing is derived yet; `starting` below makes the next state compute those fields again.
        snapshot.state, snapshot.size, snapshot.derived_size = fields, size_of(fields), 0
        run.outcome.written.update(fields)
        # Visits are part of the names of actions, so their count continues; loops and jumps count from here.
        snapshot.loops = dict(snapshot.visits)
        snapshot.attempts, snapshot.items, snapshot.caught = {}, {}, {}
        snapshot.failures, snapshot.error, snapshot.kept = [], None, None
        snapshot.starting = bool(structure.derived or structure.at_start)


@dataclass(frozen=True, kw_only=True)
class Handled(Effect):
    """The handler has ended: the run fails with the error that it was about."""

    def enter(self, run: Run, state: str) -> None:
        run.fail_at_last()


def collected(
    run: Run, error: dict[str, Json], path: Sequence[Json], reads: tuple[str, ...] = ()
) -> Resolved:
    """The change that appends an error to a list. The error is data: nothing in it is evaluated."""
    # Resolved without its value: an error message may look like an expression, and must not be evaluated.
    change = FieldUpdate(path=path, operation="append").resolved(run, reads, {})
    return replace(change, value=error)
