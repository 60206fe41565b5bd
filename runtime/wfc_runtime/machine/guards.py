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
    """The base: `allows` is what the runtime asks."""

    def allows(self, run: Run, state: str) -> bool:
        raise NotImplementedError(type(self).__name__)


def as_guard(guarding: Guarding, name: str) -> Guard:
    """The same in the form that the library calls. Its diagrams show a guard by the function's name."""

    def guard(machine: Machine[Any, Any], source: State) -> bool:
        return guarding.allows(machine.model, source.id)

    guard.__name__ = name
    # The library takes a function without this for a method of the machine, and binds it by its name.
    guard.__self__ = guarding  # type: ignore[attr-defined]
    return guard


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
    shown = text.strip().removeprefix("{{").removesuffix("}}").strip() if isinstance(text, str) else str(text)
    name = shown if at_most is None else f"{shown} (at most {at_most} times)"
    return as_guard(Condition(text, reads, at_most), name)


def at_most(turns: int) -> Guard:
    """The state has been entered no more often than that; once more fails the step."""
    return as_guard(Condition(True, (), turns), f"at most {turns} times")


class Unfailed(Guarding):
    def allows(self, run: Run, state: str) -> bool:
        return run.may_leave(state)


OK = Unfailed()
ok: Guard = as_guard(OK, "ok")
"""The state's effect has succeeded. An edge without an event and a condition has this one."""


class Faultless(Guarding):
    def allows(self, run: Run, state: str) -> bool:
        return run.is_faultless()


faultless: Guard = as_guard(Faultless(), "no failure")
"""No failure is kept for the end of the run."""

otherwise: Guard = as_guard(OK, "otherwise")
"""No edge above was taken, and none of their conditions failed."""
