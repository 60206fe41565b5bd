"""`step`: a pure function from a snapshot and an event to the next snapshot and the work that follows."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache

from wfc_runtime.contract import ENDED, Json
from wfc_runtime.errors import RefusedError, SnapshotError, StepError
from wfc_runtime.machine.budget import ask_if_used_up, set_budget, spend
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask, Effect
from wfc_runtime.machine.events import (
    BudgetSet,
    Cancel,
    ChildEnded,
    ChildRetried,
    Clock,
    Event,
    FieldsUpdated,
    Interrupted,
    Outcome,
    Reopen,
    Spent,
    Start,
    Submit,
)
from wfc_runtime.machine.interpreter import Interpreter, Structure, structure_of
from wfc_runtime.machine.redaction import hide_inputs, secrets_in
from wfc_runtime.machine.reopening import kept_of, reopened
from wfc_runtime.machine.run import Run
from wfc_runtime.machine.snapshot import GATE, Pending, Snapshot
from wfc_runtime.machine.spawn import FACTS, SHARED, TIME_LIMIT, Spawn
from wfc_runtime.machine.updating import update_fields
from wfc_runtime.machine.values import Limits, size_of

# Snapshot checks: could the machine have produced this snapshot?


class SnapshotCheck:
    """The rules for one machine: every active frame has one active child, every active parallel state has all branches
    active, and every active step waits for something: a gate for other branches, any other for an event."""

    def __init__(self, structure: Structure) -> None:
        # The same nodes for every event: `structure_of` is cached by class, so the set below stays valid as
        # long as this object lives.
        self._states = structure.nodes
        self._known: set[tuple[str, ...]] = set()

    def check(self, snapshot: Snapshot) -> None:
        # The budget's question is a visit without a state of the chart, so the rules below do not apply to
        # it.
        states = [pending.state for pending in snapshot.pending.values() if pending.state != GATE]
        # The empty text separates the two lists: no state has an empty id.
        key = (*snapshot.configuration, "", *states)
        if key in self._known:
            return
        self._check(snapshot.configuration, states)
        # Runs of one machine pass through few configurations; the limit is for charts with many parallel branches.
        if len(self._known) < 10_000:
            self._known.add(key)

    def check_kept(self, snapshot: Snapshot) -> None:
        """Check the place from which an ended run would continue. Its failed steps do not wait for anything."""
        kept = kept_of(snapshot)
        states = [one.state for one in kept.pending.values()]
        # After an intended failure, `entered` is the gate that a retry goes back to, and "" if there is none;
        # that case is refused by `kept_of` above.
        failed = [one.entered for one in snapshot.failures if one.state != GATE]
        self._check_known([*kept.entering, *failed])
        # A failed step has no visit any more, but its state was active when the run ended. Counted as
        # waiting, it satisfies the rule that every active step waits.
        idle = [name for name in kept.configuration if name in self._states and self._states[name].is_step]
        self._check(kept.configuration, [*states, *(name for name in idle if name not in states)])

    def _check(self, configuration: list[str], waiting: list[str]) -> None:
        self._check_known([*configuration, *waiting])
        wrong = self._first_problem(set(configuration), waiting)
        if wrong:
            raise SnapshotError(
                "snapshot_illegal", f"the snapshot is in states that don't go together: {wrong}"
            )

    def _check_known(self, names: list[str]) -> None:
        gone = [name for name in dict.fromkeys(names) if name not in self._states]
        if gone:
            raise SnapshotError(
                "definition_changed", f"the module has no state {', '.join(f'`{name}`' for name in gone)}"
            )

    def _first_problem(self, active: set[str], waiting: list[str]) -> str:
        # Top-level states are mutually exclusive: the frame of the running workflow and one final state per
        # terminal status.
        if sum(self._states[name].parent is None for name in active) != 1:
            return "it is not in exactly one of running, completed, failed and cancelled"
        for name in sorted(active):
            state = self._states[name]
            if state.parent is not None and state.parent.id not in active:
                return f"`{name}` is active, the state around it is not"
            inside = [child.id for child in state.children if child.id in active]
            if state.is_parallel and len(inside) != len(state.children):
                return f"not every branch of `{name}` is active"
            if state.children and not state.is_parallel and len(inside) != 1:
                return f"{len(inside)} states inside `{name}` are active"
            # A gate waits for branches and has no visit, so the expected count is 0 for it and 1 for any
            # other step.
            if state.is_step and waiting.count(name) != (not state.is_gate):
                return f"`{name}` is active and does not wait for anything"
        idle = [name for name in waiting if name not in active]
        return f"`{idle[0]}` waits for something and is not active" if idle else ""


# The step.

NO_REASON = "no reason given"
_DEFAULTS = Limits()


def step(machine: AnyMachine, snapshot: Snapshot | None, event: Event, limits: Limits = _DEFAULTS) -> Outcome:
    """Process one event with a machine.

    The given snapshot is not modified. Raises `RefusedError` for an event that the machine does not wait for, and
    `SnapshotError` for a snapshot that does not belong to this machine.
    """
    structure = structure_of(machine)
    if snapshot is None:
        if not isinstance(event, Start):
            raise RefusedError("not_started", "the run has not been started")
        run = Run(structure, _first_snapshot(structure, event, limits), event, limits)
        interpreter = run.interpreter = Interpreter(structure, run, [])
        interpreter.start()
    elif isinstance(event, Reopen):
        # A failed run is in a final state, so its configuration carries no information; `kept` has the place to check.
        _snapshot_check(machine).check_kept(snapshot)
        run = reopened(structure, snapshot, event, limits)
        return _outcome(run, run.snapshot.configuration)
    else:
        _check_open(snapshot, event)
        _snapshot_check(machine).check(snapshot)
        # A copy, because a refusal must leave the snapshot as it was.
        run = Run(structure, snapshot.copy(), event, limits)
        interpreter = run.interpreter = Interpreter(structure, run, snapshot.configuration)
        if isinstance(event, FieldsUpdated):
            update_fields(machine, run, event)
        else:
            _happen(run, event)
    return _outcome(run, interpreter.configuration)


def _first_snapshot(structure: Structure, event: Start, limits: Limits) -> Snapshot:
    """The snapshot of a run that is in no state yet."""
    # A deep copy: the initial values belong to the class.
    initial = json.loads(json.dumps(dict(structure.initial_values)))
    # These two names carry data from a parent and must not be visible to expressions.
    given = {name: value for name, value in event.scope.items() if name not in (SHARED, TIME_LIMIT)}
    shared = event.scope.get(SHARED) or {}
    initial |= shared
    snapshot = Snapshot(inputs=event.inputs, scope=given, state=initial, size=size_of(initial))
    snapshot.shared = list(shared)
    seconds = event.scope.get(TIME_LIMIT) or structure.time_limit
    snapshot.ends_at = None if seconds is None else event.at + seconds
    snapshot.starting = bool(structure.derived or structure.at_start)
    # Before anything is evaluated: an error of the first step may already quote a secret.
    snapshot.learn([*event.secrets, *secrets_in(structure.inputs, event.inputs)])
    # Only a parent whose own limit was raised can pass larger inputs.
    if size_of(event.inputs) > limits.input_bytes:
        snapshot.room = limits.served_state_bytes
    return snapshot


@lru_cache(maxsize=256)
def _snapshot_check(machine: AnyMachine) -> SnapshotCheck:
    return SnapshotCheck(structure_of(machine))


def _check_open(snapshot: Snapshot, event: Event) -> None:
    if isinstance(event, Start):
        raise RefusedError("started", "the run has already been started")
    if snapshot.status in ENDED:
        raise RefusedError("finished", f"the run is {snapshot.status}: nothing is pending")


def _happen(run: Run, event: Event) -> None:
    match event:
        case Submit():
            _check_pending(run, event.visit)
            pending = run.snapshot.pending[event.visit]
            said = run.snapshot.outbox
            # The agent has seen these. A server that submits has seen nothing, and a refused result changes nothing.
            run.snapshot.outbox = said if event.served else []
            run.structure.steps[pending.state].answer(run, event.visit, event.result)
            if run.outcome.refusal is not None:
                run.snapshot.outbox = said
            else:
                run.snapshot.worktree = _worktree_after(run.snapshot, event)
        case Interrupted():
            _check_pending(run, event.visit)
            effect = run.structure.steps[run.snapshot.pending[event.visit].state]
            assert isinstance(effect, Ask), "only actions are executed by servers"
            effect.interrupted(run, event.visit, event.since)
        case ChildEnded():
            _child_ended(run, event)
        case ChildRetried():
            _check_pending(run, event.visit)
            _spawn(run, event.visit).retried(run, event.visit, event.index)
        case Clock():
            _clock(run, event.at)
        case Spent():
            spend(run, event)
        case BudgetSet():
            set_budget(run, event)
        case Cancel():
            # The caller's text is shown to others, and may quote a secret of the run.
            reason = run.snapshot.mask.message(event.reason)
            run.snapshot.error = {"code": "cancelled", "message": reason or NO_REASON}
            run.interpreter.raise_("cancel")


def _worktree_after(now: Snapshot, event: Submit) -> dict[str, Json]:
    """The worktree with the changes of the run's agents, which becomes a part of the result of an isolated child."""
    if event.worktree is not None:
        return event.worktree
    told = event.result.get("worktree") if isinstance(event.result, dict) else None
    if not isinstance(told, dict) or set(told) != {"path", "branch"}:
        return now.worktree
    return told if all(isinstance(one, str) for one in told.values()) else now.worktree


def _check_pending(run: Run, visit: str) -> None:
    pending = run.snapshot.pending
    if visit not in pending:
        names = ", ".join(f"`{name}`" for name in pending)
        raise RefusedError("not_pending", _why_not(run, visit), f"Pending: {names}.")


def _why_not(run: Run, visit: str) -> str:
    name, _, number = visit.partition("@")
    states = [node.id for node in run.structure.nodes.values() if node.name == name and node.is_step]
    if not states:
        return f"the run has no step `{name}`"
    # The same name can occur in several scopes of one machine; the latest visit of any of them is the one to
    # compare with.
    visits = max(run.snapshot.visits.get(state, 0) for state in states)
    if (int(number) if number.isdecimal() else 1) > visits:
        return f"`{visit}` has not been reached"
    return f"`{visit}` is no longer pending: it was answered, timed out or left"


def _child_ended(run: Run, event: ChildEnded) -> None:
    _check_pending(run, event.visit)
    run.snapshot.learn(event.secrets)
    # Before the result is processed: storing it below already needs the larger limit.
    if event.served:
        run.make_room(size_of(event.result))
    pending = run.snapshot.pending
    _spawn(run, event.visit).ended(run, event.visit, event.index, event.result)
    # The slot that the child leaves may be what the queue of another visit waits for.
    # A list, since starting a child may end other visits.
    for visit in [visit for visit, one in pending.items() if None in one.children]:
        if visit in pending:
            _spawn(run, visit).start_more(run, visit)


def _spawn(run: Run, visit: str) -> Spawn:
    effect = run.structure.steps[run.snapshot.pending[visit].state]
    if not isinstance(effect, Spawn):
        raise RefusedError("not_pending", f"`{visit}` has no children")
    return effect


def _clock(run: Run, now: float) -> None:
    pending = run.snapshot.pending
    ends_at = run.snapshot.ends_at
    if ends_at is not None and ends_at <= now:
        # Once: the steps of a handler have no limit.
        run.snapshot.ends_at = None
        # Any active step can stand for the run here: the deadline is that of the run, and no handler of a
        # step applies.
        active = next((one.state for one in pending.values() if one.state != GATE), None)
        if active is not None:
            run.time_is_up(active)
        return
    # In the order of their times, as if the clock had reported each on time: one may end the others.
    due = sorted((one.due, visit) for visit, one in pending.items() if one.due is not None and one.due <= now)
    for _, visit in due:
        if visit in pending:
            run.structure.steps[pending[visit].state].due(run, visit)


def _outcome(run: Run, configuration: list[str]) -> Outcome:
    snapshot = run.snapshot
    # Also at the end of an event: a loop that was the last step is left without entering another state.
    # A field derived from the count may fail, but no step reads it after this point.
    with suppress(StepError):
        run.end_turns()
    snapshot.configuration = configuration
    snapshot.status = next((name for name in configuration if name in ENDED), "running")
    if snapshot.caught:
        # A parallel step that one branch has won needs the failures of the others no longer.
        joined = run.structure.joined
        snapshot.caught = {
            join: failures for join, failures in snapshot.caught.items() if joined[join].id in configuration
        }
    run.outcome.secrets = tuple(snapshot.secrets)
    if snapshot.status == "running":
        ask_if_used_up(run)
        return run.outcome
    # A run that has ended must not ask whether its budget may be extended.
    snapshot.pending = {visit: one for visit, one in snapshot.pending.items() if one.state != GATE}
    if snapshot.status != "completed":
        snapshot.result = None
    if snapshot.status == "failed" or (isinstance(run.event, Cancel) and run.event.keeps):
        # A retry needs the state as it was, and secrets are removed from the state of an ended run: such a
        # run can't be retried.
        snapshot.kept = None if snapshot.secrets or snapshot.hidden else snapshot.kept or run.kept
    if snapshot.kept is None:
        # Without what was pending, which may contain secrets.
        snapshot.failures = [one.without_children() for one in snapshot.failures]
    # An ended run needs its secrets no longer. A state that becomes the result below is redacted by this; a value that
    # the workflow returns explicitly is not.
    run.outcome.forgotten = snapshot.forget_secrets(hide_inputs(run.structure.inputs, snapshot.inputs))
    if snapshot.status == "completed":
        snapshot.error, snapshot.failures = None, []
        internal = run.structure.internal
        final = {name: one for name, one in snapshot.state.items() if name not in internal}
        ends_with = final if internal else snapshot.state
        snapshot.result = _with_facts(run, snapshot.result if run.returned else ends_with)
    if snapshot.kept is None:
        # Not needed any more: the parent has the results of earlier items, too.
        snapshot.scope = {name: value for name, value in snapshot.scope.items() if name != "previous"}
    return run.outcome


def _with_facts(run: Run, result: Json) -> Json:
    """The result with the facts that the caller asked for. Keys of the result itself take precedence."""
    asked = run.snapshot.scope.get(FACTS)
    if not asked or not isinstance(result, dict):
        return result
    facts = run.structure.facts
    return {**{name: facts[name] for name in asked if name in facts}, **result}


# Can a waiting run continue with another version of its machine?


def blocking_steps(machine: AnyMachine, snapshot: Snapshot, was: AnyMachine | None = None) -> list[str]:
    """The steps that a run waits in and that a machine does not have, or has with a different kind.

    `was`: the current machine of the run, if available; it defines the kind of action that the run waits for.
    """
    waiting = {one.state: visit.partition("@")[0] for visit, one in snapshot.pending.items()}
    gone = [
        waiting[one.state]
        for one in snapshot.pending.values()
        if not _still_there(machine.steps.get(one.state), one, was.steps.get(one.state) if was else None)
    ]
    if gone:
        return gone
    try:
        # The steps exist, but the states around them may have changed, such as a branch that was moved.
        SnapshotCheck(structure_of(machine)).check(snapshot)
    except SnapshotError:
        return list(waiting.values())
    return []


def _still_there(effect: Effect | None, pending: Pending, was: Effect | None) -> bool:
    if effect is None or isinstance(effect, Spawn) != bool(pending.children):
        return False
    if isinstance(effect, Ask) and (effect.wait_seconds is None) != (pending.resume_at is None):
        return False
    return was is None or _kind(effect) == _kind(was)


def _kind(effect: Effect) -> tuple[str, ...]:
    if isinstance(effect, Ask):
        # An answer to the old form of a question would not fit a new one.
        return "Ask", effect.kind, str(effect.parameters.get("prompt_type", ""))
    return (type(effect).__name__,)
