"""What a state does when it is entered, answered or due. A handful of effects serve every step type of every dialect.

Effects are data: the generated module writes them down, `Run` gives them the means. `enter` is called once per
visit; a `StepError` from it becomes a retry, a recovery or the end of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, StepError
from wfc_runtime.machine import schema, validation
from wfc_runtime.machine.plain import NotPlainError, check_plain, size_of, to_text
from wfc_runtime.machine.snapshot import Pending

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
        """The agent has submitted a result for a visit. Raises `RefusedError`, changing nothing, where none is wanted."""
        raise NotImplementedError(type(self).__name__)

    def due(self, run: Run, visit: str) -> None:
        """The moment that a visit waited for has come, or its deadline has passed."""
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
        at = run.event.at
        parameters = run.evaluate(dict(self.parameters), self.reads)
        pending = Pending(
            state=state,
            parameters=parameters,
            where=run.evaluate(dict(self.where), self.reads) if self.where else {},
            deadline=None if self.timeout is None else at + self.timeout + run.limits.grace_seconds,
            resume_at=None if self.wait_seconds is None else at + self.wait_seconds,
        )
        run.suspend(pending, size_of(parameters) + size_of(pending.where))

    def action(self, pending: Pending) -> Action:
        timing: dict[str, Json] = {}
        if pending.resume_at is not None:
            timing = {"duration_seconds": self.wait_seconds, "resume_at": moment(pending.resume_at)}
        elif self.timeout is not None:
            timing = {"timeout": self.timeout}
        return Action(self.kind, {**pending.parameters, **timing}, self.instruction, self.schema(pending))

    def schema(self, pending: Pending) -> Json:
        return schema.narrowed(schema.of(self.result), pending.where)

    def answer(self, run: Run, visit: str, result: Json) -> None:
        pending = run.snapshot.pending[visit]
        if pending.resume_at is not None:
            refuse_early(run, visit, pending.resume_at)
            self.due(run, visit)
            return
        try:
            check_plain(result, run.limits.result_bytes, run.limits.nesting)
        except NotPlainError as error:
            raise RefusedError(
                "result_unfit",
                f"the result {error}",
                "Write what is large to a file and submit its path, or shorten it.",
            ) from None
        reported = _reported_error(result)
        if reported is not None:
            run.fail(pending.state, StepError("agent_error", reported))
        elif isinstance(result, dict) and result.get("timed_out") is True:
            run.fail(pending.state, StepError("timeout", "the agent reported that the step timed out"))
        else:
            self._accept(run, visit, result)

    def _accept(self, run: Run, visit: str, result: Json) -> None:
        pending = run.snapshot.pending[visit]
        problems = self._problems(pending, result)
        if not problems:
            run.complete(visit, result, "submit")
            return
        pending.misfits += 1
        told = "; ".join(problems)
        allowed = self.retry.max_attempts if self.retry else run.limits.misfits
        if pending.misfits < allowed:
            left = allowed - pending.misfits
            run.outcome.refusal = RefusedError(
                "result_misfit",
                f"the result of `{visit}` does not fit: {told}",
                f"Submit one that fits result_schema; {left} more {'try' if left == 1 else 'tries'} before the step fails.",
            )
        else:
            run.fail(pending.state, StepError("result_misfit", f"no result fitted: {told}"), retry=False)

    def _problems(self, pending: Pending, result: Json) -> list[str]:
        try:
            return validation.problems(result, self.schema(pending))
        except validation.PatternError as error:
            return [str(error)]

    def due(self, run: Run, visit: str) -> None:
        if self.wait_seconds is not None:
            run.complete(visit, {"resumed": True, "duration_seconds": self.wait_seconds}, "due")
            return
        error = StepError(
            "timeout",
            f"no result came within {self.timeout:g} seconds and {run.limits.grace_seconds:g} more",
            "Raise the step's timeout, or give it a retry.",
        )
        run.fail(run.snapshot.pending[visit].state, error)


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


def _reported_error(result: Json) -> str | None:
    """The agent says that it could not do it: {"error": ...} and nothing else."""
    if isinstance(result, dict) and set(result) == {"error"} and result["error"]:
        error = result["error"]
        return (error if isinstance(error, str) else to_text(error))[:2000]
    return None
