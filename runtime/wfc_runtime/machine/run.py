"""The working memory of one machine while one event is processed. Effects and guards act on it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from wfc_runtime import expr
from wfc_runtime.contract import Json
from wfc_runtime.errors import StepError
from wfc_runtime.expr import ExpressionError, is_template
from wfc_runtime.folders import CALL_FOLDER, in_call
from wfc_runtime.machine.change import Resolved, applied
from wfc_runtime.machine.derive import derive_all, is_same, settle
from wfc_runtime.machine.effects import Ask, Return
from wfc_runtime.machine.events import Event, Outcome
from wfc_runtime.machine.failing import ERROR, HANDLE, START_OVER, collected
from wfc_runtime.machine.interpreter import Structure
from wfc_runtime.machine.loops import count_turns, end_loops, item_of, loop_names
from wfc_runtime.machine.redaction import HIDDEN, Mask, hide_inputs, texts_in
from wfc_runtime.machine.say import tell
from wfc_runtime.machine.snapshot import GATE, Failure, Kept, Pending, Snapshot
from wfc_runtime.machine.values import Limits, size_of

if TYPE_CHECKING:
    from wfc_runtime.machine.effects import Effect
    from wfc_runtime.machine.interpreter import Condition, Node


class Moving(Protocol):
    """The part of the interpreter that effects use."""

    def raise_(self, event: str, at: str = "") -> object: ...

    def is_active(self, state: str) -> bool: ...


class Run:
    """Created from a snapshot and an event, notified of entered and left states, and read out as an `Outcome`."""

    def __init__(self, structure: Structure, snapshot: Snapshot, event: Event, limits: Limits) -> None:
        self.structure = structure
        self.snapshot = snapshot
        self.event = event
        self.limits = limits
        self.interpreter: Moving
        self.configuration_value: Any = None
        """Where the state machine library stores the active states if it drives the machine."""
        self.now = datetime.fromtimestamp(event.at, UTC)
        self.outcome = Outcome(snapshot)
        self.returned = False
        self.measured: tuple[Json, int] = (None, 0)
        """A value whose size is already known, and that size."""
        self.retrying: set[str] = set()
        """States about to be entered for a further attempt."""
        self.kept: Kept | None = None
        """Where the run was when it ended."""
        self.resumed: dict[str, Pending] = {}
        """Visits with children that are about to be started over, by state."""
        self._turn = ""
        """The loop whose turn was just left or begun."""
        self._following = ""
        """The event that follows a failure of the run."""
        self._at = ""
        """The state whose expressions are evaluated: it has the variables of the loops around it."""
        self._skipped: set[str] = set()
        self._failed: set[str] = set()
        self._halted = False
        self._evaluations = 0

    # -- notifications of the interpreter --------------------------------------

    def entered(self, state: str) -> None:
        # Gates are added by the compiler; visits number the steps of the author.
        if self.structure.nodes[state].is_gate:
            return
        self.outcome.entered.append(state)
        self.snapshot.visits[state] = self.snapshot.visits.get(state, 0) + 1
        # A new visit starts without the failure of the one before.
        self._failed.discard(state)
        # Attempts are counted per visit: coming back in a loop allows all of them again.
        # A retry re-enters the same state within one visit's attempts, so the count must survive the entry.
        if state not in self.retrying:
            self.snapshot.attempts.pop(state, None)
        self.retrying.discard(state)
        if self.snapshot.failures:
            self.make_up([one for one in self.snapshot.failures if one.is_old and one.state == state])
        # The run is about to fail. Entering a state must not start new work on the way.
        if self._halted:
            self._skipped.add(state)
            return
        # The compiler proves that no cycle is endless, but not that its bound is small.
        if len(self.outcome.entered) > self.limits.moves:
            self._end(
                state,
                StepError("moves", f"more than {self.limits.moves:,} steps without an answer in between"),
            )
            return
        if self.snapshot.starting and not self._begin(state):
            return
        effect = self.structure.steps.get(state)
        self._at = state
        try:
            # Before the effect: its expressions must see the final count, and no items of loops that were
            # left.
            self.end_turns(state)
            if self.snapshot.items:
                end_loops(self, state)
            if effect is not None:
                effect.enter(self, state)
        except StepError as error:
            self.fail(state, error)

    def end_turns(self, state: str = "") -> None:
        """Correct the count of a loop that the run has just left, for a state or for the end."""
        turn, self._turn = self._turn, ""
        if turn and turn != state:
            count_turns(self, turn, state)

    def _begin(self, state: str) -> bool:
        """Compute what a run computes at its start. If that fails, the run does: no handler of a step applies."""
        try:
            if self.structure.at_start:
                self._put_fields(self.evaluate(dict(self.structure.at_start), ()))
            derive_all(self)
        except StepError as error:
            self._failed.add(state)
            self._end(state, error)
            return False
        self.snapshot.starting = False
        return True

    def left(self, state: str) -> None:
        if self.structure.nodes[state].is_gate:
            return
        self.outcome.left.append(state)
        # Only for the next entered state: if that is inside the loop, another turn begins; otherwise the loop
        # has ended.
        self._turn = state if state in self.structure.loops else ""
        self.drop(state)

    def ending(self, configuration: list[str]) -> None:
        """Note where the run was, for a retry. A return is then done again: a run that fails has no result."""
        steps = self.structure.steps
        entering = [
            name
            for name in configuration
            # A state whose effect failed or was skipped has to be entered again; the others only continue to wait.
            if name in self._skipped | self._failed or isinstance(steps.get(name), Return)
        ]
        # A question for a budget is asked again if it is still used up.
        pending = {visit: one for visit, one in self.snapshot.pending.items() if one.state != GATE}
        self.kept = Kept(configuration, pending, entering)
        if self._following in (HANDLE, START_OVER):
            self._follow()

    # -- guards ----------------------------------------------------------------

    def may_leave(self, state: str) -> bool:
        """Whether no unhandled failure blocks the state."""
        return not self._halted and state not in self._failed

    def are_active(self, states: tuple[str, ...]) -> bool:
        # Set only if the state machine library drives the machine, as in the tests that compare the two.
        if self.configuration_value is not None:
            return all(state in self.configuration_value for state in states)
        return all(self.interpreter.is_active(state) for state in states)

    def has_item(self, state: str) -> bool:
        """Whether the loop whose turns begin in a state has another item."""
        return item_of(self, state) is not None

    def is_faultless(self) -> bool:
        """Whether no failure has been deferred to the end of the run."""
        return self.snapshot.error is None

    def holds(self, state: str, condition: Condition) -> bool:
        if not self.may_leave(state):
            return False
        self._at = state
        try:
            holds = self.is_true(condition.text, condition.reads)
            if holds and condition.most is not None:
                holds = self._count_turn(state, condition)
        except StepError as error:
            self.fail(state, error)
            return False
        return holds

    def _count_turn(self, state: str, condition: Condition) -> bool:
        """Whether a loop may begin another turn. Raises `StepError` unless it is left after the last one."""
        # Visits are counted over the whole run; `Begin` records the count at the entry of the loop.
        turns, most = self.snapshot.visits[state] - self.snapshot.loops.get(state, 0), condition.most or 0
        if turns > most and condition.leaves:
            note: dict[str, Json] = {"left_after": most, "step_id": self.structure.nodes[state].name}
            # A guard may be evaluated twice.
            if note not in self.outcome.notes:
                self.outcome.notes.append(note)
            return False
        if turns > most:
            raise StepError(
                "max_iterations",
                f"max_iterations ({most}) was reached",
                "Raise max_iterations, or use `else` or `on_error` to say how to continue.",
            )
        return True

    # -- visits ----------------------------------------------------------------

    def suspend(self, pending: Pending, size: int, visit: str | None = None, most: int | None = None) -> str:
        """Wait in a state. `size` is the size of the action for the agent; 0 if it is certainly within the limit."""
        limits = self.limits
        most = most or limits.action_bytes
        count = len(self.snapshot.pending) + 1
        # Counted before the visit is added: a wide `parallel` would otherwise send an agent a reply without
        # bound.
        if count > limits.pending_actions:
            raise StepError(
                "pending_actions",
                f"{count:,} actions would be pending at once; the limit is {limits.pending_actions:,}",
            )
        if size > most:
            raise StepError(
                "action_size",
                f"the action would be {size:,} bytes; the limit is {most:,}",
                "Pass large texts by reference: the path of a file instead of its content.",
            )
        name = visit or self.visit_of(pending.state)
        self.snapshot.pending[name] = pending
        return name

    def visit_of(self, state: str) -> str:
        """The name of the latest visit: the step's id, with a number unless it is the first."""
        # Names are stable because visits are never reset: a late answer to `build` can't be taken for one to
        # `build@2`.
        count = self.snapshot.visits.get(state, 1)
        name = self.structure.nodes[state].name
        return name if count == 1 else f"{name}@{count}"

    def complete(self, visit: str, result: Json, event: str) -> None:
        """Store the result of a visit and continue."""
        pending = self.snapshot.pending[visit]
        self._at = pending.state
        try:
            self.put(self.structure.steps[pending.state], result)
        except StepError as error:
            self.fail(pending.state, error)
            return
        # Only after the result is stored: if it does not fit into the state, `fail` needs the pending visit.
        del self.snapshot.pending[visit]
        self.snapshot.attempts.pop(pending.state, None)
        # Only workflows with a `fail` step pay for this list; a retry goes back to the last answered gate in
        # it.
        if self.structure.fails_by_intent and event != "due":
            others = [state for state in self.snapshot.answered if state != pending.state]
            self.snapshot.answered = [*others, pending.state]
        self.go_on(event, pending.state)

    def enter_again(self, visit: str) -> None:
        """Start a pending visit over, as a new one."""
        state = self.snapshot.pending[visit].state
        self.drop(state)
        self.entered(state)

    def go_on(self, event: str, state: str) -> None:
        self.interpreter.raise_(event, at=state)

    def drop(self, state: str) -> None:
        """Stop waiting in a state; the results of its children are no longer needed."""
        pending = self.snapshot.pending
        for visit in [visit for visit, one in pending.items() if one.state == state]:
            self.stop_children(visit, pending.pop(visit))

    def stop_children(self, visit: str, pending: Pending) -> None:
        """Cancel the children of a visit that are at work."""
        outcome = self.outcome
        at_work = [str(child["run"]) for child in pending.children if child and "run" in child]
        # Children that were requested by this same event do not exist yet: they are not started instead of stopped.
        unborn = [child.id for child in outcome.started if child.visit == visit]
        outcome.started = [child for child in outcome.started if child.visit != visit]
        outcome.stopped += [child for child in at_work if child not in unborn]

    # -- failures --------------------------------------------------------------

    def will_retry(self, state: str) -> bool:
        effect = self.structure.steps.get(state)
        made = self.snapshot.attempts.get(state, 0) + 1
        return effect is not None and effect.retry is not None and made < effect.retry.max_attempts

    def fail(self, state: str, error: StepError, retry: bool = True, result: Json = None) -> None:
        """Retry, use the fallback, take the recovery edge, or end the run: in that order, as far as the chart allows.

        `result`: of a command that failed by its exit code, if the step still makes its changes.
        """
        if self._halted:
            return
        self._failed.add(state)
        # Before `drop`, which forgets the visit: a retry of the run continues with the children that have
        # succeeded.
        children = next(
            (one for one in self.snapshot.pending.values() if one.state == state and one.children), None
        )
        self.drop(state)
        record = self.record(state, error)
        # Of a parallel step: where a retry of the run continues. Branches that the first failure cancelled must begin
        # again, and with them all.
        branches = {} if state in self.structure.failing_fast else self.snapshot.caught.get(state, {})
        # Another visit of the step has its own.
        self.snapshot.caught = {name: one for name, one in self.snapshot.caught.items() if name != state}
        attempts = self.snapshot.attempts
        if retry and self.will_retry(state):
            attempts[state] = attempts.get(state, 0) + 1
            self.outcome.notes.append({"retried": attempts[state], **record})
            self.go_on("retry", state)
            return
        # The last attempt has failed; a later visit of the same state gets all of its attempts again.
        attempts.pop(state, None)
        effect = self.structure.steps.get(state)
        if effect is not None and effect.failure_message is not None:
            self._tell_failure(effect, state, record)
        # Only if the run continues after the failure: otherwise no later step could read the result.
        if result is not None and effect is not None and self.structure.can_recover(state):
            # The changes may read the item of a loop, which is known by the place of the step.
            self._at = state
            try:
                self.put(effect, result)
            except StepError as worse:
                error, record = worse, self.record(state, worse)
        if error.code != STATE_ACCESS and effect is not None and (effect.error_changes or effect.fallback):
            try:
                if self._make_do(effect, state, record):
                    return
            except StepError as worse:
                # The changes or the fallback could not be written. That ends the run, even if the step has an
                # `on_error`.
                self.end(Failure(state, self.record(state, worse), children))
                return
        # An undeclared read is a bug of the workflow, which `on_error` must not hide.
        if error.code != STATE_ACCESS and self.structure.can_recover(state):
            join = self.structure.caught.get(state)
            if join is not None:
                caught = self.snapshot.caught
                branch = self.structure.branch_of(state)
                # The latest failure comes last, even that of a branch that failed in an earlier turn of a loop.
                before = {name: one for name, one in caught.get(join, {}).items() if name != branch}
                failure = Failure(state, record, _restartable(children), branches)
                self.snapshot.caught = {**caught, join: {**before, branch: failure}}
            is_kept = state in self.structure.deferred
            if is_kept:
                self._keep(Failure(state, record, children, branches))
            self.outcome.notes.append({"deferred" if is_kept else "recovered": True, **record})
            self.go_on("recover", state)
            return
        self.end(Failure(state, self.record(state, error), children, branches))

    def _tell_failure(self, effect: Effect, state: str, record: dict[str, Json]) -> None:
        """Tell the user what the author says about a failure. If that fails too, the first failure counts."""
        self._at = state
        names = {"error": {name: record[name] for name in ("code", "message", "step_id")}}
        try:
            tell(self, state, self.evaluate(effect.failure_message, effect.reads, names), "error")
        except StepError as worse:
            self.outcome.notes.append({"not_told": True, **self.record(state, worse)})

    def _make_do(self, effect: Effect, state: str, record: dict[str, Json]) -> bool:
        """Make the changes that a step makes after a failure. Returns whether it has a fallback and so succeeds."""
        self._at = state
        if effect.error_changes:
            names = {"error": {name: record[name] for name in ("code", "message", "step_id")}}
            changes = [one.resolved(self, effect.reads, names) for one in effect.error_changes]
            self.change(changes)
        if effect.fallback is None:
            return False
        self.put(effect, effect.instead(effect.fallback.value))
        self.outcome.notes.append({"fallback": True, **record})
        # The step has succeeded after all, so its outgoing edges are open again.
        self._failed.discard(state)
        self.go_on(effect.done, state)
        return True

    def fail_by_intent(self, state: str, error: StepError) -> None:
        """End the run as its author wants. A retry enters the last gate, where someone can decide otherwise."""
        if self._halted:
            return
        self._failed.add(state)
        gate = self._last_gate(state)
        again = f" A retry continues at `{self.structure.nodes[gate].name}`." if gate else ""
        error.hint = f"The workflow ended the run here.{again}"
        self.end(Failure(state, self.record(state, error), gate=gate))

    def _last_gate(self, state: str) -> str:
        """The last question that a person answered on the way to a state; otherwise the last answered step, or ""."""
        nodes, steps = self.structure.nodes, self.structure.steps
        before = [one for one in self.snapshot.answered if not _are_concurrent(nodes[one], nodes[state])]
        gates = [one for one in before if isinstance(effect := steps.get(one), Ask) and effect.is_gate]
        return [*before, *gates][-1] if before else ""

    def _end(self, state: str, error: StepError) -> None:
        self.end(Failure(state, self.record(state, error)))

    def end(self, failure: Failure) -> None:
        """Fail the run, or start it over, or begin its handler. Nothing else may happen before that."""
        self._halted = True
        failing = self.structure.failing
        # A failure inside the handler must not start the handler again.
        if self.snapshot.handling or not (failing.collect or failing.restarts or failing.handler):
            self._keep(failure)
            self.interpreter.raise_("fail")
            return
        if failing.collect:
            try:
                shown = {name: failure.error[name] for name in ("code", "message", "step_id")}
                self.change([collected(self, shown, failing.collect)])
            except StepError as error:
                # The list is a convenience: if it can't be written, the run still fails with its own error.
                self.outcome.notes.append({"not_collected": True, **self.record(failure.state, error)})
        # Stored among the visits, so that the count survives the reset of the state that `StartOver`
        # performs.
        starts = self.snapshot.visits.get(START_OVER, 0)
        if starts < failing.restarts:
            self.snapshot.visits[START_OVER] = starts + 1
            self.outcome.notes.append({"restarted": starts + 1, **failure.error})
            self._following = START_OVER
        else:
            self._keep(failure)
            self._following = HANDLE if failing.handler else "fail"
        self.interpreter.raise_(self._following)

    def time_is_up(self, state: str) -> None:
        """Fail the run because it has not ended in time. No handler of a step applies to that."""
        message = f"the run did not end within its {self.structure.time_limit or 0:g} seconds"
        # A task has no limit of its own in the module, but its parent may have given it one.
        if self.structure.time_limit is None:
            message = "the run did not end within the time that its parent gives it"
        self._failed.add(state)
        self._end(state, StepError("deadline", message, "Raise the `deadline` of the workflow."))

    def fail_at_last(self) -> None:
        """Fail with the error that a handler was about."""
        self._halted = True
        self.interpreter.raise_("fail")

    def _follow(self) -> None:
        """The run leaves the place at which it has failed, for its handler or to start over."""
        if self._following == HANDLE:
            snapshot, failing = self.snapshot, self.structure.failing
            # A retry after the handler continues at the step that failed, not at the last step of the
            # handler.
            snapshot.kept, snapshot.handling = self.kept, True
            error = snapshot.error or {}
            shown = {name: error[name] for name in ("code", "message", "step_id") if name in error}
            snapshot.scope = {**snapshot.scope, ERROR: shown}
            # A run that ends as completed can't be retried.
            if failing.completes:
                snapshot.kept = None
        self._following, self._halted = "", False
        self._failed.clear()

    def _keep(self, failure: Failure) -> None:
        """Keep the error that fails the run, now or at its end. The first one counts: others may be consequences."""
        if self.snapshot.handling:
            self.outcome.notes.append({"handler": True, **failure.error})
        elif all(one.is_old or one.state != failure.state for one in self.snapshot.failures):
            # One current failure per state. An old one of the same state is from the time before a retry.
            self.snapshot.failures = [*self.snapshot.failures, failure]
        if self.snapshot.error is None:
            self.snapshot.error = failure.error

    def make_up(self, failures: list[Failure]) -> None:
        """Forget failures whose steps are done again."""
        if failures:
            left = [one for one in self.snapshot.failures if one not in failures]
            self.snapshot.failures = left
            self.snapshot.error = left[0].error if left else None

    def record(self, state: str, error: StepError) -> dict[str, Json]:
        """The error as JSON for replies, results and history, redacted: messages may quote values."""
        record = error.record(self.visit_of(state))
        mask = self.snapshot.mask
        # Codes too: a `fail` step computes its code from expressions.
        return {**record, **{name: mask.message(record[name]) for name in ("code", "message")}}

    # -- values ----------------------------------------------------------------

    def evaluate(
        self, expression: Json, reads: tuple[str, ...], names: Mapping[str, Json] | None = None
    ) -> Any:
        """Evaluate an expression. It sees only the declared fields, the inputs, and its scope."""
        expression = self._placed(expression)
        # Constant parameters are common, and this path avoids building a context for them.
        if type(expression) is dict and not any(map(_may_vary, expression.values())):
            # Counted even though nothing is evaluated: the values of uuid() depend on the count.
            self._evaluations += 1
            return dict(expression)
        try:
            context = self._context(reads, names)
            return self._language.evaluate_tree(expression, context, **self._means(reads))
        except ExpressionError as error:
            raise self._step_failed(error, context) from None

    def is_true(self, text: Json, reads: tuple[str, ...], names: Mapping[str, Json] | None = None) -> bool:
        """Whether an expression is true, as a condition."""
        text = self._placed(text)
        try:
            context = self._context(reads, names)
            return bool(self._language.evaluate_condition(text, context, **self._means(reads)))
        except ExpressionError as error:
            raise self._step_failed(error, context) from None

    def _placed(self, expression: Json) -> Json:
        folder = self.snapshot.scope.get(CALL_FOLDER)
        return expression if folder is None else in_call(expression, str(folder))

    @property
    def _language(self) -> ModuleType:
        return evaluator(self.structure.expressions)

    def _step_failed(self, error: ExpressionError, context: Mapping[str, Json]) -> StepError:
        details = failed_expression(error, {**context, **self._shown_values(context)}, self.snapshot.mask)
        if error.reason == "hidden":
            return StepError(STATE_ACCESS, str(error), "Add the field to the step's needs_state.", details)
        return StepError("expression", str(error), details=details)

    def _shown_values(self, context: Mapping[str, Json]) -> dict[str, Json]:
        """The state and the inputs that an expression sees, without values that are secret as a whole."""
        # Values that are only partly secret are redacted later, by the mask; a field of `hidden` may be too
        # short for that.
        state = {
            name: HIDDEN if name in self.snapshot.hidden else one for name, one in context["state"].items()
        }
        return {"state": state, "inputs": hide_inputs(self.structure.inputs, self.snapshot.inputs)}

    def _context(self, reads: tuple[str, ...], names: Mapping[str, Json] | None) -> dict[str, Json]:
        # Fields that the step does not declare are not even in the context, so no filter or function can reach them.
        state = self.snapshot.state
        return {
            **self.snapshot.scope,
            **(dict(loop_names(self, self._at)) if self.structure.loops else {}),
            **(names or {}),
            # After the names above, so that no variable of a loop or scope can replace the state or the
            # inputs.
            "state": {name: state[name] for name in reads if name in state},
            "inputs": self.snapshot.inputs,
        }

    def _means(self, reads: tuple[str, ...]) -> dict[str, Any]:
        self._evaluations += 1
        return {
            "now": self.now,
            # Derived from the event, so that a replay of the same event gives the same values.
            "uuid_seed": f"{self.event.id}/{self._evaluations}",
            "limits": self.limits.served_expressions if self.snapshot.room else self.limits.expressions,
            # Names that exist but are not declared: reading one is reported as a missing declaration, not as
            # an undefined field.
            "hidden": frozenset(self.snapshot.state).difference(reads),
        }

    @property
    def state_bytes(self) -> int:
        return max(self.limits.state_bytes, self.snapshot.room)

    def make_room(self, size: int) -> None:
        """Raise the state limit: results of a server may be larger. The snapshot keeps the new limit."""
        if self.snapshot.size + size > self.limits.state_bytes:
            self.snapshot.room = max(self.snapshot.room, self.limits.served_state_bytes)

    def put(self, effect: Effect, result: Json, is_failed: bool = False) -> None:
        """Write the result of a step to its field, and make the changes that the step makes with it."""
        # The result first: the changes may refer to the field that it was written to.
        kept = {} if effect.writes is None else {effect.writes: result}
        if effect.changes and not is_failed:
            changes = [one.resolved(self, effect.reads, {"result": result}) for one in effect.changes]
            self.change(changes, kept)
        elif kept:
            self.write(kept)

    def change(self, changes: Sequence[Resolved], kept: Mapping[str, Json] | None = None) -> None:
        """Write fields, `kept` first, and change others or the same ones, in one write."""
        self._write(applied(self, changes, kept))
        if self.snapshot.shared:
            self._log([*_as_changes(kept or {}), *changes])

    def write(self, values: dict[str, Json]) -> None:
        """Write all fields, and compute what is derived from them. If either is not possible, nothing is written."""
        self._write(values)
        if self.snapshot.shared:
            self._log(_as_changes(values))

    # Only in a child with shared fields. The parent applies the changes in item order, which makes the result
    # independent of which child ends first.
    def _log(self, changes: Sequence[Resolved]) -> None:
        """Keep the changes of fields that belong to the parent, which makes them too."""
        shared = [one for one in changes if one.field in self.snapshot.shared]
        if shared:
            logged = [*self.snapshot.changes, *(one.to_data() for one in shared)]
            size = size_of(logged)
            if size > self.state_bytes:
                raise StepError(
                    "state_size", f"the changes would be {size:,} bytes; the limit is {self.state_bytes:,}"
                )
            self.snapshot.changes = logged

    def _write(self, values: dict[str, Json]) -> None:
        if not self.structure.derived:
            self._put_fields(values)
            return
        # Remembered for the rollback below: a derived field that fails fails the whole write.
        snapshot, outcome = self.snapshot, self.outcome
        state, sizes = snapshot.state, (snapshot.size, snapshot.derived_size)
        written, computed = dict(outcome.written), len(outcome.derived)
        self._put_fields(values)
        try:
            settle(
                self, [name for name in values if name not in state or not is_same(state[name], values[name])]
            )
        except StepError:
            snapshot.state, (snapshot.size, snapshot.derived_size) = state, sizes
            outcome.written = written
            del outcome.derived[computed:]
            raise

    def _put_fields(self, values: dict[str, Json]) -> None:
        # Before the write: an error from here on may quote the value.
        secrets = [name for name in values if name in self.structure.secrets]
        if secrets:
            self.snapshot.learn(text for name in secrets for text in texts_in(values[name]))
            self.snapshot.hidden = list(dict.fromkeys([*self.snapshot.hidden, *secrets]))
        state, size = self.snapshot.state, self.snapshot.size
        # A new object: snapshots share the state until it is written.
        written = {**state, **values}
        for name, value in values.items():
            known, measured = self.measured
            # Measuring a value means encoding it, so the size that was found while the result was checked is reused.
            size += measured if value is known and value is not None else size_of(value)
            size += -size_of(state[name]) if name in state else size_of(name) + 1
        # JSON has a comma before every field but the first.
        size += max(len(written) - 1, 0) - max(len(state) - 1, 0)
        # Derived fields have their own limit, so that a large derived value does not fail an unrelated
        # step.
        own = size - self.snapshot.derived_size
        if own > self.state_bytes:
            raise StepError(
                "state_size",
                f"the state would be {own:,} bytes; the limit is {self.state_bytes:,}",
                "Keep large values in files and their paths in the state.",
            )
        self.snapshot.state = written
        self.snapshot.size = size
        self.outcome.written.update(values)


def _are_concurrent(one: Node, other: Node) -> bool:
    """Whether two states are in different branches of the same parallel state."""
    around = next((node for node in one.ancestors if node in other.ancestors), None)
    return around is not None and around.is_parallel


def _as_changes(values: Mapping[str, Json]) -> list[Resolved]:
    return [Resolved(name, (), "set", value) for name, value in values.items()]


def evaluator(expressions: str) -> ModuleType:
    """The module that evaluates expressions of a language: `jinja` or `javascript`."""
    if expressions == "javascript":
        # Imported here: most processes have no workflow that needs it.
        from wfc_runtime import javascript

        return javascript
    return expr


STATE_ACCESS = "state_access"
"""Reading a field that the step did not declare: a retry can't help, and no recovery may hide it."""


def _may_vary(value: Json) -> bool:
    return is_template(value) if isinstance(value, str) else isinstance(value, (dict, list, tuple))


# A failed expression as data, for people who look at a run.

# Only plain reads are recognised. This is for display: an expression with other forms just shows fewer
# values.
_NAMES = re.compile(r"\b(state|inputs)\.([A-Za-z_]\w*)|\b(item|index|previous)\b")
_SHOWN_TEXT, _SHOWN_VALUE, _SHOWN_NAMES = 2_000, 200, 8


def failed_expression(error: ExpressionError, context: Mapping[str, Json], mask: Mask) -> dict[str, Json]:
    """The text of an expression, the offsets of the part that failed, and the values that it read, redacted."""
    if error.template is None or error.start is None or error.end is None:
        return {}
    # Of a long text, the part around the failure.
    first = max(0, error.start - _SHOWN_TEXT // 2) if len(error.template) > _SHOWN_TEXT else 0
    text = error.template[first : first + _SHOWN_TEXT]
    at = [min(error.start - first, len(text)), min(error.end - first, len(text))]
    values: dict[str, Json] = {}
    for root, name, alone in _NAMES.findall(text):
        found = context.get(alone) if alone else (context.get(root) or {}).get(name)
        if len(values) < _SHOWN_NAMES and found is not None:
            values[alone or f"{root}.{name}"] = _shortened(mask.value(found))
    return {"expression": text, "at": at, **({"values": values} if values else {})}


def _shortened(value: Json) -> Json:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}... ({len(text):,} characters)"


def _restartable(visit: Pending | None) -> Pending | None:
    """The visit of a step whose run continues: its children at work are cancelled for good, and start again."""
    if visit is None:
        return None
    kept = visit.copy()
    kept.children = [None if child and "run" in child else child for child in visit.children]
    return kept
