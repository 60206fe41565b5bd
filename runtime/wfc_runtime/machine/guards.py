"""The conditions on a chart's edges.

A guard is asked while edges are selected, possibly twice, so guards change nothing; one that fails reports
the failure once and holds back every edge of its state until that failure is dealt with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from statemachine import State

if TYPE_CHECKING:
    from wfc_runtime.machine.chart import Machine
    from wfc_runtime.machine.run import Run

Guard = Callable[..., bool]


class Guarding:
    """The base: `allows` is what the runtime asks, `holds` the same in the form that the library calls."""

    def allows(self, run: Run, state: str) -> bool:
        raise NotImplementedError(type(self).__name__)

    def holds(self, machine: Machine[Any, Any], source: State) -> bool:
        return self.allows(machine.model, source.id)


@dataclass(frozen=True)
class Condition(Guarding):
    """An expression of the workflow, with the fields it may read and the turns it may grant."""

    text: Any
    reads: tuple[str, ...]
    most: int | None

    def allows(self, run: Run, state: str) -> bool:
        return run.holds(state, self)


def when(text: Any, *reads: str, at_most: int | None = None) -> Guard:
    """The expression is true. With `at_most`, being true once more than that fails the step."""
    return Condition(text, reads, at_most).holds


def at_most(turns: int) -> Guard:
    """The state has been entered no more often than that; once more fails the step."""
    return Condition(True, (), turns).holds


class Unfailed(Guarding):
    def allows(self, run: Run, state: str) -> bool:
        return run.may_leave(state)


ok: Guard = Unfailed().holds
"""The state's effect has succeeded."""


class Faultless(Guarding):
    def allows(self, run: Run, state: str) -> bool:
        return run.snapshot.error is None


faultless: Guard = Faultless().holds
"""No failure is kept for the end of the run."""

otherwise: Guard = ok
"""No edge above was taken, and none of their conditions failed."""
