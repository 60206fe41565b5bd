"""A chart that is walked by hand, without a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wfc_runtime.machine.guards import Condition


class Walk:
    """The model of a machine that is walked by hand, with the state machine library's own calls.

    Effects are not performed. `decide` is asked for the text of each condition; without it every condition is false,
    so that the `otherwise` edges are taken.
    """

    def __init__(self, decide: Callable[[str], bool] = lambda text: False) -> None:
        self.decide = decide
        self.state: Any = None
        """Where the library keeps the active states."""
        self.path: list[str] = []
        """The states that were entered, in order."""
        self._turns: Counter[str] = Counter()

    def entered(self, state: str) -> None:
        self.path.append(state)

    def left(self, state: str) -> None:
        """Nothing is kept for a state."""

    def may_leave(self, state: str) -> bool:
        return True

    def is_faultless(self) -> bool:
        return True

    def holds(self, state: str, condition: Condition) -> bool:
        holds = condition.text is True or self.decide(str(condition.text))
        if holds and condition.most is not None:
            # The library asks twice for each turn; a walk needs no exact count, only an end.
            self._turns[state] += 1
            holds = self._turns[state] <= 2 * condition.most
        return holds
