"""The conditions on a chart's edges.

The library asks for a guard while it selects transitions, possibly twice, so guards change nothing; one that fails
reports the failure once and holds back every edge of its state until that failure is dealt with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from statemachine import State

if TYPE_CHECKING:
    from wfc_runtime.machine.chart import Machine

Guard = Callable[..., bool]


@dataclass(frozen=True)
class Condition:
    """An expression of the workflow, with the fields it may read and the turns it may grant."""

    text: Any
    reads: tuple[str, ...]
    most: int | None

    def holds(self, machine: Machine[Any, Any], source: State) -> bool:
        return machine.model.holds(source.id, self)


def when(text: Any, *reads: str, at_most: int | None = None) -> Guard:
    """The expression is true. With `at_most`, being true once more than that fails the step."""
    return Condition(text, reads, at_most).holds


def at_most(turns: int) -> Guard:
    """The state has been entered no more often than that; once more fails the step."""
    return Condition(True, (), turns).holds


@dataclass(frozen=True)
class Unfailed:
    def holds(self, machine: Machine[Any, Any], source: State) -> bool:
        return machine.model.may_leave(source.id)


ok: Guard = Unfailed().holds
"""The state's effect has succeeded."""

otherwise: Guard = ok
"""No edge above was taken, and none of their conditions failed."""
