"""What a state does when it is entered. A handful of effects serve every step type of every dialect.

Effects are data: the generated module writes them down, `Run` gives them the means. `enter` is called once per
visit and may fail; a failure is turned into a retry, a recovery or the end of the run by `Run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wfc_runtime.contract import Json

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run

ResultType = type[Any] | Mapping[str, Json] | None
"""What a result must look like: a TypedDict of the contract, a JSON Schema, or None for anything."""


@dataclass(frozen=True)
class Retry:
    """How often a failing step is tried, and how long to wait before the second, third, ... time."""

    max_attempts: int
    delay_seconds: float = 0
    backoff: float = 1

    def delay(self, attempts_made: int) -> float:
        return float(self.delay_seconds * self.backoff ** (attempts_made - 1))


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The base: what may be read, and where the result goes."""

    reads: tuple[str, ...] = ()
    writes: str | None = None
    retry: Retry | None = None

    def enter(self, run: Run, state: str) -> None:
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True, kw_only=True)
class Ask(Effect):
    """Suspend until the agent (or the person behind it) has answered."""

    kind: str
    instruction: str
    parameters: Mapping[str, Json] = field(default_factory=dict)
    result: ResultType = None
    where: Mapping[str, Json] = field(default_factory=dict)
    """Narrows properties of the result's schema; rendered like the parameters."""
    timeout: float | None = None
    wait_seconds: float | None = None
    """The step ends by itself after so long; nobody answers it."""

    def enter(self, run: Run, state: str) -> None:
        run.ask(state, self)


@dataclass(frozen=True, kw_only=True)
class Assign(Effect):
    """Write computed values, all of them or none. A bare name in an expression is an earlier key."""

    updates: Mapping[str, Json]

    def enter(self, run: Run, state: str) -> None:
        run.assign(state, self)


@dataclass(frozen=True, kw_only=True)
class Spawn(Effect):
    """Suspend until child machines have ended: one per item, or just one where there are no items."""

    task: str | None = None
    workflow: str | None = None
    items: Json = None
    inputs: Mapping[str, Json] | None = None
    """Expressions for the child's inputs. None: the item itself fills them."""
    agent: str | None = None
    sequential: bool = False
    max_items: int | None = None

    def enter(self, run: Run, state: str) -> None:
        run.spawn(state, self)


@dataclass(frozen=True, kw_only=True)
class Return(Effect):
    """End the machine with a value."""

    value: Json = None

    def enter(self, run: Run, state: str) -> None:
        run.finish(state, self)


@dataclass(frozen=True, kw_only=True)
class Begin(Effect):
    """Enter a loop from outside: its turns count from zero again."""

    loop: str

    def enter(self, run: Run, state: str) -> None:
        run.begin_loop(self.loop)


@dataclass(frozen=True, kw_only=True)
class Delay(Effect):
    """Pause before a failed step is tried again."""

    step: str

    def enter(self, run: Run, state: str) -> None:
        run.delay(state, self)
