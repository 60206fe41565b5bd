"""What a state does when it is entered, answered or due. A handful of effects serve every step type.

Effects are data: the generated module writes them down, `Run` gives them the means. `enter` is called once
per visit; a `StepError` from it becomes a retry, a recovery or the end of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.snapshot import Pending

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run


@dataclass(frozen=True)
class Retry:
    """How often a failing step is tried, and how long to wait before the second, third, ... time."""

    max_attempts: int
    delay_seconds: float = 0
    backoff: float = 1

    def delay(self, attempts_made: int) -> float:
        try:
            return min(float(self.delay_seconds * self.backoff ** (attempts_made - 1)), _LONGEST)
        except OverflowError:
            return _LONGEST


_LONGEST = 30 * 24 * 3600.0


@dataclass(frozen=True)
class Action:
    """What a pending visit asks of the agent."""

    type: str
    parameters: dict[str, Json]
    instruction: str = ""
    result_schema: Json = None


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The base: what may be read, and where the result goes."""

    reads: tuple[str, ...] = ()
    writes: str | None = None
    retry: Retry | None = None

    def enter(self, run: Run, state: str) -> None:
        raise NotImplementedError(type(self).__name__)

    def action(self, pending: Pending) -> Action:
        raise NotImplementedError(type(self).__name__)

    def answer(self, run: Run, visit: str, result: Json) -> None:
        """The agent has submitted a result for a visit. Raises `RefusedError` where none is wanted."""
        raise NotImplementedError(type(self).__name__)

    def due(self, run: Run, visit: str) -> None:
        """The moment that a visit waited for has come, or its deadline has passed."""
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True, kw_only=True)
class Assign(Effect):
    """Write computed values, all of them or none. A bare name in an expression is an earlier key."""

    updates: Mapping[str, Json]

    def enter(self, run: Run, state: str) -> None:
        written: dict[str, Json] = {}
        for name, expression in self.updates.items():
            written[name] = run.evaluate(expression, self.reads, written)
        run.write(written if self.writes is None else {**written, self.writes: dict(written)})


@dataclass(frozen=True, kw_only=True)
class Return(Effect):
    """End the machine with a value. Of two branches that return at the same moment the first one counts."""

    value: Json = None

    def enter(self, run: Run, state: str) -> None:
        value = run.evaluate(self.value, self.reads)
        if not run.returned:
            run.returned = True
            run.snapshot.result = value


@dataclass(frozen=True, kw_only=True)
class Begin(Effect):
    """Enter a loop from outside: its turns count from zero again."""

    loop: str

    def enter(self, run: Run, state: str) -> None:
        run.snapshot.loops[self.loop] = run.snapshot.visits.get(self.loop, 0)


@dataclass(frozen=True, kw_only=True)
class Delay(Effect):
    """Pause before a failed step is tried again."""

    step: str

    def enter(self, run: Run, state: str) -> None:
        seconds = self._seconds(run)
        if not seconds:
            run.retrying.add(self.step)
            run.go_on("due", state)
            return
        visit = f"{run.visit_of(self.step)}@retry"
        made = run.snapshot.attempts[self.step]
        parameters: dict[str, Json] = {"duration_seconds": seconds, "attempt": made + 1}
        run.suspend(Pending(state, parameters, resume_at=run.event.at + seconds), 0, visit)

    def _seconds(self, run: Run) -> float:
        retry = run.structure.steps[self.step].retry
        assert retry is not None
        return retry.delay(run.snapshot.attempts[self.step])

    def action(self, pending: Pending) -> Action:
        assert pending.resume_at is not None
        parameters = {**pending.parameters, "resume_at": moment(pending.resume_at)}
        return Action("wait", parameters, "Nothing to do: the step is tried again once resume_at has passed.")

    def answer(self, run: Run, visit: str, result: Json) -> None:
        resume_at = run.snapshot.pending[visit].resume_at
        assert resume_at is not None
        refuse_early(run, visit, resume_at)
        self.due(run, visit)

    def due(self, run: Run, visit: str) -> None:
        pending = run.snapshot.pending.pop(visit)
        run.retrying.add(self.step)
        run.go_on("due", pending.state)


def refuse_early(run: Run, visit: str, resume_at: float) -> None:
    left = resume_at - run.event.at
    if left > 0:
        raise RefusedError(
            "too_early", f"`{visit}` waits for another {left:.0f} s", f"Ask again after {moment(resume_at)}."
        )


def moment(at: float) -> str:
    """A time as replies show it: the next whole second, so that asking then is not too early."""
    return datetime.fromtimestamp(ceil(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
