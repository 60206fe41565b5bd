"""How much a run may ask for. The compiler checks what it can see; the machine checks the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from wfc_runtime.expr import DEFAULT_LIMITS, ExprLimits


@dataclass(frozen=True)
class Limits:
    input_bytes: int = 256 * 1024
    result_bytes: int = 256 * 1024
    action_bytes: int = 256 * 1024
    state_bytes: int = 1024 * 1024
    served_bytes: int = 24 * 1024 * 1024
    """A result of what the server did by itself, such as the files that a command wrote: no message carries it."""
    served_state_bytes: int = 64 * 1024 * 1024
    """The state of a run with such results."""
    nesting: int = 100
    """Lists and objects inside each other in a value from outside."""
    pending_actions: int = 50
    parallel_children: int = 100
    """Children of a run at work at once; more are queued."""
    depth: int = 6
    """Runs inside each other, the outermost among them: a call, or a foreach in a task, goes one deeper. Five calls, as
    the compiler has it."""
    moves: int = 10_000
    """States entered while one event is worked through."""
    grace_seconds: float = 30
    """How long after its timeout an action counts as lost."""
    misfits: int = 3
    """How many results that do not fit a step may get before it fails, where its `retry` does not say."""
    expressions: ExprLimits = DEFAULT_LIMITS

    @property
    def served_expressions(self) -> ExprLimits:
        """Of a run with results of the server's own work, which its expressions may read and pass on."""
        most = self.served_bytes
        return replace(self.expressions, text=most, output=most, value=most, room=4 * most)

    @classmethod
    def of(cls, settings: Mapping[str, int]) -> Self:
        """The limits with those that a project sets."""
        values: dict[str, Any] = dict(settings)
        return replace(cls(), **values)
