"""The effect that asks: whatever the agent, or the person behind it, has to do, is one of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, StepError
from wfc_runtime.instructions import instruction_for
from wfc_runtime.machine import schema, validation
from wfc_runtime.machine.effects import Action, Effect, moment, refuse_early
from wfc_runtime.machine.events import Interrupted, Submit
from wfc_runtime.machine.plain import NotPlainError, check_plain, size_of, to_text
from wfc_runtime.machine.snapshot import Pending

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run

Runner = Literal["agent", "server"]
ResultType = type[Any] | Mapping[str, Json] | None
"""What a result must look like: a TypedDict of the contract, a JSON Schema, or None for anything."""


@dataclass(frozen=True, kw_only=True)
class Ask(Effect):
    """Suspend until the agent (or the person behind it) has answered."""

    kind: str
    instruction: str | None = None
    """None: what `wfc_runtime.instructions` has for the kind."""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    result: ResultType = None
    where: Mapping[str, Json] = field(default_factory=dict)
    """Narrows properties of the result's schema; rendered like the parameters."""
    timeout: float | None = None
    wait_seconds: float | None = None
    """The step ends by itself after so long; nobody answers it."""
    runner: Runner = "agent"
    """With "server", a server whose operator allowed it does the work itself; else it is the agent's like any other.
    The server keeps to the timeout by itself, and a queue must not run into it: there is no deadline here."""

    def enter(self, run: Run, state: str) -> None:
        parameters = run.evaluate(dict(self.parameters), self.reads)
        pending = Pending(
            state=state,
            parameters=parameters,
            where=run.evaluate(dict(self.where), self.reads) if self.where else {},
            deadline=self._deadline(run),
            resume_at=None if self.wait_seconds is None else run.event.at + self.wait_seconds,
        )
        size = size_of([parameters, pending.where])
        # What the server does by itself may be about values as large as it brought.
        is_large = self.runner == "server" and run.snapshot.room
        run.suspend(pending, size, most=run.limits.served_bytes if is_large else None)

    def _deadline(self, run: Run) -> float | None:
        if self.timeout is None or self.runner == "server":
            return None
        return run.event.at + self.timeout + run.limits.grace_seconds

    def action(self, pending: Pending) -> Action:
        timing: dict[str, Json] = {}
        if pending.resume_at is not None:
            timing = {"duration_seconds": self.wait_seconds, "resume_at": moment(pending.resume_at)}
        elif self.timeout is not None:
            timing = {"timeout": self.timeout}
        parameters = {**pending.parameters, **timing}
        return Action(self.kind, parameters, self.told(parameters), self.schema(pending))

    def told(self, parameters: Mapping[str, Json]) -> str:
        """What the agent is told to do with the parameters."""
        return instruction_for(self.kind, parameters) if self.instruction is None else self.instruction

    def schema(self, pending: Pending) -> Json:
        return schema.narrowed(self._whole_schema, pending.where)

    @cached_property
    def _whole_schema(self) -> Json:
        return schema.of(self.result)

    def answer(self, run: Run, visit: str, result: Json) -> None:
        pending = run.snapshot.pending[visit]
        if pending.resume_at is not None:
            refuse_early(run, visit, pending.resume_at)
            self.due(run, visit)
            return
        is_served = isinstance(run.event, Submit) and run.event.served
        most = run.limits.served_bytes if is_served else run.limits.result_bytes
        try:
            run.measured = (result, check_plain(result, most, run.limits.nesting))
        except NotPlainError as error:
            raise unfit(str(error)) from None
        if is_served:
            run.make_room(run.measured[1])
        reported = _reported_error(result, is_ours=is_served or isinstance(run.event, Interrupted))
        if reported is not None:
            run.fail(pending.state, reported)
        elif isinstance(result, dict) and result.get("timed_out") is True:
            run.fail(
                pending.state, StepError("timeout", f"the {self.runner} reported that the step timed out")
            )
        else:
            self._accept(run, visit, result)

    def _accept(self, run: Run, visit: str, result: Json) -> None:
        pending = run.snapshot.pending[visit]
        try:
            quoted = self.writes not in run.structure.secrets
            problems = validation.problems(result, self.schema(pending), quoted)
        except validation.UnusableSchemaError as error:
            run.fail(pending.state, StepError("result_schema", str(error)), retry=False)
            return
        if not problems:
            run.complete(visit, result, "submit")
            return
        pending.misfits += 1
        told = run.snapshot.mask.message("; ".join(problems))
        allowed = self.retry.max_attempts if self.retry else run.limits.misfits
        if pending.misfits < allowed:
            left = allowed - pending.misfits
            more = "one more that doesn't" if left == 1 else f"{left} more that don't"
            run.outcome.refusal = RefusedError(
                "result_misfit",
                f"the result of `{visit}` does not fit: {told}",
                f"Submit one that fits its result_schema: after {more}, the step fails.",
            )
        else:
            run.fail(pending.state, StepError("result_misfit", f"no result fitted: {told}"), retry=False)

    def due(self, run: Run, visit: str) -> None:
        if self.wait_seconds is not None:
            seconds = self.wait_seconds
            run.complete(visit, {"resumed": True, "duration": seconds, "duration_seconds": seconds}, "due")
            return
        error = StepError(
            "timeout",
            f"no result came within {self.timeout:g} seconds and {run.limits.grace_seconds:g} more",
            "Raise the step's timeout, or give it a retry.",
        )
        run.fail(run.snapshot.pending[visit].state, error)


def unfit(why: str) -> RefusedError:
    """A result that can't be kept, whatever the step asks for."""
    return RefusedError(
        "result_unfit",
        f"the result {why}",
        "Write what is large to a file and submit its path, or shorten it."
        if "limit" in why
        else "Submit plain JSON: text, finite numbers, true, false, null, lists and objects.",
    )


def _reported_error(result: Json, is_ours: bool) -> StepError | None:
    """Whoever did it says that it could not be done: {"error": ...} and nothing else.

    A hint is read as our own words: what an agent gives for one is a part of its message.
    """
    if not isinstance(result, dict) or set(result) != {"error"} or not result["error"]:
        return None
    error = result["error"]
    if isinstance(error, dict) and {"code", "message"} <= set(error) <= {"code", "message", "hint"}:
        code, message, hint = (str(error.get(name, "")) for name in ("code", "message", "hint"))
        if not is_ours:
            message, hint = f"{message} {hint}".strip(), ""
        return StepError(code[:40], message[:2000], hint[:500])
    return StepError("agent_error", (error if isinstance(error, str) else to_text(error))[:2000])
