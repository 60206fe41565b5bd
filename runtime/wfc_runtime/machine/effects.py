"""Effects: the actions of a state when it is entered, answered or due. A handful of effects serve every step type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from wfc_runtime import results
from wfc_runtime.contract import (
    DEFAULTS,
    ERROR_CODE,
    HUMAN_KINDS,
    UNNAMED_ERROR,
    CommandResult,
    GitChangesResult,
    GitSnapshotResult,
    Json,
    Report,
    ShellResult,
)
from wfc_runtime.errors import RefusedError, StepError
from wfc_runtime.git_proof import read_changes, read_snapshot
from wfc_runtime.instructions import REPORTED, instruction_for
from wfc_runtime.machine.events import Submit
from wfc_runtime.machine.output import OutputFormat, with_value
from wfc_runtime.machine.snapshot import Pending
from wfc_runtime.machine.values import NotPlainError, is_surely_within, plain_text, size_of, to_text

if TYPE_CHECKING:
    from wfc_runtime.machine.answering import Answering
    from wfc_runtime.machine.change import FieldUpdate
    from wfc_runtime.machine.run import Run


# Effects that complete without an answer.


@dataclass(frozen=True)
class Retry:
    """How often a failing step is tried, and the delay before each further attempt."""

    max_attempts: int
    delay_seconds: float = 0
    backoff: float = 1

    def delay(self, attempts_made: int) -> float:
        # `backoff ** attempts` can exceed what a float holds long before the limit on attempts is reached.
        try:
            return min(float(self.delay_seconds * self.backoff ** (attempts_made - 1)), _LONGEST)
        except OverflowError:
            return _LONGEST


_LONGEST = 30 * 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class UseFallback:
    """The result that a failed step has instead."""

    value: Json


@dataclass(frozen=True)
class Action:
    """The action that a pending visit asks of the agent."""

    type: str
    parameters: dict[str, Json]
    instruction: str = ""
    result_schema: Json = None


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Base class: the fields that may be read, and the field that gets the result."""

    reads: tuple[str, ...] = ()
    writes: str | None = None
    retry: Retry | None = None
    changes: Sequence[FieldUpdate] = ()
    """Changes of fields that are made with the result, as `result`, in the same write."""
    error_changes: Sequence[FieldUpdate] = ()
    """Changes of fields that are made when the step has failed finally, with `error`."""
    failure_message: Json = None
    """The message for the user when the step has failed finally; it can read `error`."""
    fallback: UseFallback | None = None
    """The result after a failure that no retry follows: the step then succeeds."""
    keeps_failed: bool = False
    """Whether `changes` are also made with the result of a command that failed the step by its exit code."""
    done: ClassVar[str] = "submit"
    """The event that ends the step."""

    def enter(self, run: Run, state: str) -> None:
        raise NotImplementedError(type(self).__name__)

    def action(self, pending: Pending) -> Action:
        raise NotImplementedError(type(self).__name__)

    def answer(self, run: Run, visit: str, result: Json) -> None:
        """Process a result that was submitted for a visit. Raises `RefusedError` if none is expected."""
        raise NotImplementedError(type(self).__name__)

    def due(self, run: Run, visit: str) -> None:
        """Process that the time of a visit has come, or that its deadline has passed."""
        raise NotImplementedError(type(self).__name__)

    def restart(self, run: Run, pending: Pending) -> None:
        """Start the time limits of a visit again, because its run had failed meanwhile."""

    @property
    def fields(self) -> list[str]:
        """The state fields that it may write."""
        changed = [str(one.path[0]) for one in (*self.changes, *self.error_changes)]
        return list(dict.fromkeys([*changed, *([self.writes] if self.writes else [])]))

    @property
    def texts(self) -> list[Json]:
        """The values with expressions that it evaluates in addition to those of its kind."""
        changed = [part for one in (*self.changes, *self.error_changes) for part in (*one.path, one.value)]
        return changed if self.failure_message is None else [*changed, self.failure_message]

    def instead(self, value: Json) -> Json:
        """The result that replaces a failed one, from the value of the `fallback`."""
        return value


@dataclass(frozen=True, kw_only=True)
class Assign(Effect):
    """Write computed values, all of them or none. A bare name in an expression refers to an earlier key."""

    updates: Mapping[str, Json]

    @property
    def fields(self) -> list[str]:
        return [*self.updates, *super().fields]

    def enter(self, run: Run, state: str) -> None:
        # Evaluated one after the other, since a later key may use an earlier one; written together at the
        # end.
        written: dict[str, Json] = {}
        for name, expression in self.updates.items():
            written[name] = run.evaluate(expression, self.reads, written)
        run.write(written if self.writes is None else {**written, self.writes: dict(written)})


@dataclass(frozen=True, kw_only=True)
class Return(Effect):
    """End the machine with a value. If two branches return at the same time, the first one counts."""

    value: Json = None
    state: bool = False
    """Whether it ends with the final state, as without a return."""

    def enter(self, run: Run, state: str) -> None:
        if self.state:
            return
        value = run.evaluate(self.value, self.reads)
        # Both branches move on the same event, so the second value would otherwise depend on their order in the file.
        if not run.returned:
            run.returned = True
            run.snapshot.result = value


@dataclass(frozen=True, kw_only=True)
class Fail(Effect):
    """End the machine as failed. A retry enters the last gate before it."""

    message: str
    code: str = UNNAMED_ERROR

    def enter(self, run: Run, state: str) -> None:
        code, message = (run.evaluate(text, self.reads) for text in (self.code, self.message))
        # A computed code ends up in history, results and expressions of the handler, all of which expect an
        # identifier.
        if not isinstance(code, str) or not re.fullmatch(ERROR_CODE, code):
            raise StepError("expression", f"`code` gives {to_text(code)[:80]}, which is not an error code")
        # The message may be computed from results of any size, and is part of every reply about the run.
        said = message if isinstance(message, str) else to_text(message)
        run.fail_by_intent(state, StepError(code, said[:_LONGEST_MESSAGE]))


_LONGEST_MESSAGE = 4_000


@dataclass(frozen=True, kw_only=True)
class Begin(Effect):
    """Enter a loop from outside: its iterations are counted from zero again."""

    loop: str

    def enter(self, run: Run, state: str) -> None:
        # Visits are never reset, since they are part of the names of actions; the loop counts from here.
        run.snapshot.loops[self.loop] = run.snapshot.visits.get(self.loop, 0)


@dataclass(frozen=True, kw_only=True)
class Join(Effect):
    """End a parallel step. It fails if the failures of its branches have led here."""

    branches: int

    def enter(self, run: Run, state: str) -> None:
        failures = run.snapshot.caught.get(state)
        if failures:
            count, first = (
                f"{len(failures)} of {self.branches} branches failed",
                next(iter(failures.values())),
            )
            raise StepError("branch_failed", f"{count}: {first.visit}: {first.error['message']}")


@dataclass(frozen=True, kw_only=True)
class Delay(Effect):
    """Pause before a failed step is retried."""

    step: str

    def enter(self, run: Run, state: str) -> None:
        seconds = self._seconds(run)
        # Without a pause there is nothing to wait for, so no visit is created that an agent would see.
        if not seconds:
            run.retrying.add(self.step)
            run.go_on("due", state)
            return
        # A separate name: a late answer to the failed attempt must not end the pause.
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
        return Action("wait", parameters, "Nothing to do: the step is retried once resume_at has passed.")

    def answer(self, run: Run, visit: str, result: Json) -> None:
        # An agent may answer a wait to ask for the next action. It is never answered before its time.
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


_MOST_SECONDS = 1_000_000_000


def seconds_of(
    run: Run, given: float | str, reads: tuple[str, ...], name: str, *, or_none: bool = False
) -> float:
    """A time limit, which may be an expression; with `or_none`, also 0 seconds."""
    # A number needs no evaluation, which would be counted: the values of uuid() depend on the count.
    found = run.evaluate(given, reads) if isinstance(given, str) else given
    try:
        seconds = -1.0 if isinstance(found, bool) else float(found)
    except (TypeError, ValueError, OverflowError):
        seconds = -1.0
    if not (seconds > 0 or (or_none and seconds == 0)) or seconds > _MOST_SECONDS:
        least = ", 0 or more" if or_none else " above 0"
        raise StepError("timeout", f"`{name}` gave {results.describe(found)}, not a number of seconds{least}")
    return seconds


def _worded(seconds: float | str) -> str:
    return "" if isinstance(seconds, str) else f" of {seconds:g} seconds"


def moment(at: float) -> str:
    """A time as shown in replies: the next whole second, so that asking at that time is not too early."""
    # Rounded up: at a rounded-down second the request would be refused as too early.
    return datetime.fromtimestamp(ceil(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# The effect that asks: every action of an agent, of the user behind it, or of a server.

Runner = Literal["agent", "server"]
RUN_AGAIN: Json = {"run_again": True}
"""The answer to an interrupted action that starts it again, as a new visit."""
_INTERRUPTED = "the server that was executing it ended before it was done"
_LOOK_FIRST = "It may have taken effect in part: look before you repeat it."
ResultType = type[Any] | Mapping[str, Json] | None
"""The required form of a result: a TypedDict of the contract, a JSON Schema, or None for anything."""


@dataclass(frozen=True, kw_only=True)
class Ask(Effect):
    """Suspend until the agent (or the user behind it) has answered."""

    kind: str
    instruction: str | None = None
    """None: the instruction from `wfc_runtime.instructions` for the kind."""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    result: ResultType = None
    where: Mapping[str, Json] = field(default_factory=dict)
    """Narrows properties of the result's schema; rendered like the parameters."""
    timeout: float | None = None
    """The time limit that the agent is given, in seconds. A later answer is accepted, too."""
    deadline: float | str | None = None
    """Seconds after which the step fails if it has not been answered, or an expression for them."""
    wait_seconds: float | str | None = None
    """The step ends automatically after this time; it takes no answer."""
    runner: Runner = "agent"
    """With "server", a server whose operator allowed it executes the action; without such a server, the agent does.
    The server enforces the timeout itself, and time in its queue does not count, so such a step is never overdue."""
    budget: Mapping[str, float] | None = None
    """The budget of the calls for one visit: usd, tokens, steps, seconds."""
    preface: str = ""
    """Text before the parameter `instructions`, from the file that the step names. It is never rendered."""
    fails_on_exit: bool = False
    """Whether a result with a non-zero `exit_code` is a failure of the step."""
    answering: Answering | None = None
    """How the answer of a person is read."""
    lapses: bool = False
    """Whether the step ends, and does not fail, when its deadline has passed."""
    format: OutputFormat | None = None
    """How the output of a command is parsed: `value` of its result."""

    def enter(self, run: Run, state: str) -> None:
        seconds = self._wait_of(run)
        # A zero wait never becomes a visit: the agent would only be asked to do nothing.
        if seconds == 0:
            run.put(self, _waited(0))
            run.go_on("due", state)
            return
        # Evaluated once, here. A later change of a field does not change an action that an agent may already
        # be doing.
        parameters = run.evaluate(dict(self.parameters), self.reads)
        if isinstance(self.wait_seconds, str):
            parameters["duration_seconds"] = seconds
        pending = Pending(
            state=state,
            parameters=parameters,
            where=run.evaluate(dict(self.where), self.reads) if self.where else {},
            deadline=self._deadline(run),
            overdue_at=self._overdue_at(run, parameters),
            resume_at=None if seconds is None else run.event.at + seconds,
            # Only steps with their own budget need their start; others would store it for nothing.
            since=run.event.at if self.budget else None,
        )
        # An action that the server executes may contain values as large as the server's own results.
        is_large = self.runner == "server" and run.snapshot.room
        most = run.limits.served_bytes if is_large else run.limits.action_bytes
        shown: Json = [parameters, pending.where, self.preface]
        # The exact size means encoding the value, so it is computed only if the cheap bound is not enough.
        run.suspend(pending, 0 if is_surely_within(shown, most) else size_of(shown), most=most)

    @property
    def is_gate(self) -> bool:
        """Whether a person decides something here."""
        return self.kind in HUMAN_KINDS and self.parameters.get("prompt_type") != "info"

    def _wait_of(self, run: Run) -> float | None:
        """How long a wait takes: a number of the file, or the value of its expression."""
        if not isinstance(self.wait_seconds, str):
            return self.wait_seconds
        seconds = seconds_of(run, self.wait_seconds, self.reads, "duration_seconds", or_none=True)
        return int(seconds) if seconds.is_integer() else seconds

    def _waited(self, pending: Pending) -> float:
        """How long a visit of a wait takes."""
        if isinstance(self.wait_seconds, str):
            return cast("float", pending.parameters["duration_seconds"])
        return self.wait_seconds or 0

    def _deadline(self, run: Run) -> float | None:
        # The author's own `deadline` fails the step; a `timeout` alone is only shown to the agent.
        if self.deadline is not None:
            return run.event.at + seconds_of(run, self.deadline, self.reads, "deadline")
        grace = run.limits.grace_seconds
        # The server enforces the timeout of its own actions, so no deadline of the run is needed.
        if grace is None or self.timeout is None or self.runner == "server":
            return None
        return run.event.at + self.timeout + grace

    def _overdue_at(self, run: Run, parameters: Mapping[str, Json]) -> float | None:
        # The timeout of a shell step may be computed; then it is one of the parameters.
        timeout = self.timeout if self.timeout is not None else parameters.get("timeout")
        # `true` is an int for Python.
        if self.runner == "server" or isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            return None
        return run.event.at + timeout

    def restart(self, run: Run, pending: Pending) -> None:
        pending.deadline = self._deadline(run)
        pending.overdue_at = self._overdue_at(run, pending.parameters)

    def action(self, pending: Pending) -> Action:
        timing: dict[str, Json] = {}
        # A wait shows its end instead of a timeout.
        if pending.resume_at is not None:
            timing = {"duration_seconds": self._waited(pending), "resume_at": moment(pending.resume_at)}
        elif self.timeout is not None:
            timing = {"timeout": self.timeout}
        if self.deadline is not None and pending.deadline is not None:
            timing["deadline"] = moment(pending.deadline)
        parameters = {**pending.parameters, **timing}
        if self.preface:
            # Not in the snapshot, since the module that the run is pinned to has it.
            parameters["instructions"] = f"{self.preface}\n\n{parameters.get('instructions', '')}".rstrip()
        instruction = self.instruction_for(parameters)
        if pending.interrupted_at is not None:
            instruction = _after_interruption(pending.interrupted_at, instruction)
        return Action(self.kind, parameters, instruction, self.schema(pending))

    def instruction_for(self, parameters: Mapping[str, Json]) -> str:
        """The instruction for the agent, depending on the parameters."""
        if self.instruction is not None:
            return self.instruction
        said = instruction_for(self.kind, parameters)
        return f"{said} {REPORTED}" if self.result is Report else said

    # The module has the schema, and the snapshot only what narrows it: a run pinned to a module always gets
    # the same one.
    def schema(self, pending: Pending) -> Json:
        return results.narrowed(self._whole_schema, pending.where)

    @cached_property
    def _whole_schema(self) -> Json:
        return results.of(self.result)

    def answer(self, run: Run, visit: str, result: Json) -> None:
        pending = run.snapshot.pending[visit]
        # A wait is not answered with data, so the result is ignored.
        if pending.resume_at is not None:
            refuse_early(run, visit, pending.resume_at)
            self.due(run, visit)
            return
        # Before the size is checked: what is stored is the converted answer.
        if self.answering is not None:
            result = self.answering.read(result)
        is_served = isinstance(run.event, Submit) and run.event.served
        most = run.limits.served_bytes if is_served else run.limits.result_bytes
        try:
            run.outcome.result_text, size = plain_text(result, most, run.limits.nesting)
        except NotPlainError as error:
            # A refusal, not a failure: nothing was stored, and the agent can submit again.
            raise unfit(str(error)) from None
        # Storing the result needs its size as well.
        run.measured = (result, size)
        if is_served:
            run.make_room(size)
        # Only for an interrupted action: for any other, {"run_again": true} may be an ordinary result.
        if pending.interrupted_at is not None and result == RUN_AGAIN:
            run.enter_again(visit)
            return
        reported = _reported_error(result, is_ours=is_served)
        if reported is not None:
            run.fail(pending.state, reported)
        elif isinstance(result, dict) and result.get("timed_out") is True:
            # Agents report a timeout in the result of a command, as the server does, and not as an error of
            # their own.
            run.fail(
                pending.state, StepError("timeout", f"the {self.runner} reported that the step timed out")
            )
        else:
            self._accept(run, visit, result, is_served)

    def _accept(self, run: Run, visit: str, result: Json, is_served: bool) -> None:
        pending = run.snapshot.pending[visit]
        # Messages quote the value that does not fit, unless the result is a secret.
        quoted = self.writes not in run.structure.secrets
        try:
            schema = self._accepted_schema(run, pending)
            # Read before it is checked: reports and proofs have other accepted forms than the schema
            # describes.
            result, unreadable = self.read(pending, result, is_served)
            problems = unreadable or results.problems(result, schema, quoted)
        except results.UnusableSchemaError as error:
            # The schema can't be used, so no further attempt could succeed.
            run.fail(pending.state, StepError("result_schema", str(error)), retry=False)
            return
        if not problems:
            completed = self._completed(result, pending)
            failure = _failed_command(result, quoted) if self.fails_on_exit else None
            try:
                completed = completed if self.format is None else with_value(completed, self.format)
            except StepError as error:
                # The exit code is the better explanation if both went wrong.
                failure = failure or error
            if failure is None:
                run.complete(visit, completed, "submit")
            else:
                run.fail(pending.state, failure, result=completed if self.keeps_failed else None)
            return
        # Problems quote the submitted value, and a person may have typed a secret.
        reason = run.snapshot.mask.message("; ".join(problems))
        answering = self.answering
        if answering is not None and answering.message:
            reason = answering.message
        most = answering.max_attempts if answering is not None else None
        if most is not None:
            # Counted only if the author set a limit; a person is otherwise asked endlessly.
            pending.misfits += 1
        if self.kind in HUMAN_KINDS and (most is None or pending.misfits < most):
            # People make typing errors, and a run must not fail because of them.
            run.outcome.refusal = RefusedError(
                "result_misfit",
                f"the answer to `{visit}` does not fit: {reason}",
                "Ask the person again, and submit an answer that matches the result_schema.",
            )
            return
        # Already counted above if the step limits its attempts.
        pending.misfits += most is None
        # Refused results count as attempts, so a step with a retry gives the agent as many tries as it declares.
        allowed = most or (self.retry.max_attempts if self.retry else run.limits.misfits)
        if pending.misfits < allowed:
            left = allowed - pending.misfits
            more = "one more invalid result" if left == 1 else f"{left} more invalid results"
            run.outcome.refusal = RefusedError(
                "result_misfit",
                f"the result of `{visit}` does not fit: {reason}",
                f"Submit a result that matches the result_schema. After {more}, the step fails.",
            )
        else:
            run.fail(
                pending.state,
                StepError("result_misfit", f"no result matched the result_schema: {reason}"),
                retry=False,
            )

    def read(self, pending: Pending, result: Json, is_served: bool = False) -> tuple[Json, list[str]]:
        """A submitted result in the form of its type, and why it can't be read."""
        if self.result is GitSnapshotResult:
            return read_snapshot(result, is_served), []
        if self.result is GitChangesResult:
            return read_changes(result, pending.parameters, is_served), []
        if self.result is not Report:
            return result, []
        report, unreadable = results.read(result, self.schema(pending))
        # The same object if it was read before: the history then has it once, and the state refers to it.
        return (result if report == result else report), unreadable

    def _accepted_schema(self, run: Run, pending: Pending) -> Json:
        schema = self.schema(pending)
        missing = self._defaults if run.limits.grace_seconds is not None else {}
        # An execution that an earlier version started is replayed under its rules: nothing could be left out.
        return {**schema, "required": [*schema["required"], *missing]} if missing else schema

    @property
    def _defaults(self) -> Mapping[str, Json]:
        return DEFAULTS.get(self.result, {}) if isinstance(self.result, type) else {}

    def _completed(self, result: Json, pending: Pending) -> Json:
        """The result with the parts that may be left out; the same object if nothing is missing."""
        rendered = {name: one["default"] for name, one in pending.where.items() if "default" in one}
        defaults = {**self._defaults, **rendered}
        missing = {name: value for name, value in defaults.items() if name not in result}
        return {**result, **missing} if missing else result

    def instead(self, value: Json) -> Json:
        # Steps that read a command's result expect its fields, so a fallback gets them too.
        if self.format is None and self.result not in (ShellResult, CommandResult):
            return value
        text = value if isinstance(value, str) else to_text(value)
        found: dict[str, Json] = {"stdout": text, "stderr": "", "exit_code": 0}
        return found if self.format is None else {**found, "value": value}

    def interrupted(self, run: Run, visit: str, since: float) -> None:
        """Fail the step if the author defined a retry or recovery. Otherwise the agent must find out what was done."""
        pending = run.snapshot.pending[visit]
        # An author who defined what follows a failure has said that repeating is safe, or what to do instead.
        if run.will_retry(pending.state) or run.structure.is_handled(pending.state):
            run.fail(pending.state, StepError("interrupted", _INTERRUPTED, _LOOK_FIRST))
        else:
            pending.interrupted_at = since

    def due(self, run: Run, visit: str) -> None:
        if self.wait_seconds is not None:
            run.complete(visit, _waited(self._waited(run.snapshot.pending[visit])), "due")
            return
        pending = run.snapshot.pending[visit]
        if self.lapses:
            run.complete(visit, None, "submit")
            return
        if self.deadline is None and run.limits.grace_seconds is not None:
            message = f"no result came within {self.timeout:g} seconds"
            run.fail(pending.state, StepError("timeout", message))
            return
        if self.deadline is None:
            # Written by an earlier version, in which the clock failed every step that had a timeout.
            # Kept for stores written by that version: the value moves to the field that means "overdue"
            # today.
            pending.overdue_at, pending.deadline = pending.deadline, None
            return
        error = StepError(
            "deadline",
            f"no answer within the deadline{_worded(self.deadline)}",
            "Raise the step's `deadline`, or use `on_error` to say how to continue.",
        )
        run.fail(pending.state, error)


def _after_interruption(since: float, instruction: str) -> str:
    return (
        f"A server started to execute this action at {moment(since)} and ended before it was done: it may have taken "
        "effect, completely or in part. Do not repeat it yet. Find out what was done, then submit the result; or "
        f'submit {{"run_again": true}} to start it again. The action was: {instruction}'
    )


def _waited(seconds: float) -> dict[str, Json]:
    """The result of a wait."""
    return {"resumed": True, "duration": seconds, "duration_seconds": seconds}


_QUOTED_OUTPUT = 500
"""The number of characters of a failed command's output in the error of its step."""


def unfit(why: str) -> RefusedError:
    """The refusal of a result that can't be stored, whatever its step expects."""
    return RefusedError(
        "result_unfit",
        f"the result {why}",
        "Write large data to a file and submit its path, or shorten it."
        if "limit" in why
        else "Submit plain JSON: text, finite numbers, true, false, null, lists and objects.",
    )


def _failed_command(result: Json, quoted: bool) -> StepError | None:
    """The failure of a command with a non-zero exit code, with the end of its output unless that is secret."""
    code = result.get("exit_code") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not code:
        return None
    said = str(result.get("stderr") or result.get("stdout") or "").strip()[-_QUOTED_OUTPUT:] if quoted else ""
    return StepError("exit_code", f"the command failed with exit code {code}{': ' if said else ''}{said}")


def _reported_error(result: Json, is_ours: bool) -> StepError | None:
    """The error in a result of the form {"error": ...}: the executor reports that the action could not be done.

    Hints are displayed as text of wfc itself, so a hint from an agent is made a part of its message.
    """
    # Exactly this one key: a result that happens to have an `error` field among others is an ordinary result.
    if not isinstance(result, dict) or set(result) != {"error"} or not result["error"]:
        return None
    error = result["error"]
    if isinstance(error, dict) and {"code", "message"} <= set(error) <= {"code", "message", "hint"}:
        code, message, hint = (str(error.get(name, "")) for name in ("code", "message", "hint"))
        # A hint is shown as advice of wfc, which an agent must not be able to write.
        if not is_ours:
            message, hint = f"{message} {hint}".strip(), ""
        # All of it ends up in the run's record. The limits keep one misbehaving agent from filling the
        # history.
        return StepError(code[:40], message[:2000], hint[:500])
    return StepError("agent_error", (error if isinstance(error, str) else to_text(error))[:2000])
