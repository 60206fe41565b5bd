"""Continuing a run that has ended: one that failed, or one that was cancelled because its parent failed.

The failed step is entered again as a new visit; after a failure that the workflow intended, the last gate before it.
Steps that were pending beside it are pending again as the same visits,
and their time limits start again; a wait that is over by now ends.
"""

from __future__ import annotations

from dataclasses import replace

from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.events import Reopen
from wfc_runtime.machine.failing import ERROR
from wfc_runtime.machine.interpreter import (
    Condition,
    Guarding,
    Interpreter,
    NextItem,
    Node,
    Structure,
    with_defaults,
)
from wfc_runtime.machine.run import Run
from wfc_runtime.machine.snapshot import GATE, Failure, Kept, Snapshot
from wfc_runtime.machine.values import Limits


def kept_of(snapshot: Snapshot) -> Kept:
    """The data that an ended run needs to continue. Raises `RefusedError` with the reason if it can't."""
    if snapshot.kept is not None:
        # The workflow decided to fail before anyone could decide otherwise: the same inputs lead there again.
        if lost := next((one.visit for one in snapshot.failures if one.gate == ""), None):
            raise RefusedError(
                "no_gate",
                f"`{lost}` failed the run before any step was answered, so a retry would fail in the same way",
                "Start a new run.",
            )
        return snapshot.kept
    if snapshot.status != "failed":
        status = "in progress" if snapshot.status == "running" else snapshot.status
        raise RefusedError("not_failed", f"the run is {status}: only a failed run can be retried")
    if not snapshot.failures:
        raise RefusedError(
            "not_kept",
            "the run failed under an earlier version of wfc, which did not keep what a retry needs",
            "Start a new run.",
        )
    raise RefusedError(
        "secrets",
        "the run had secrets, which were deleted when it failed, so it can't be retried",
        "Start a new run.",
    )


def failures_of(snapshot: Snapshot, visit: str) -> list[Failure]:
    """The failures that a retry of a visit starts over; without a visit, all of them."""
    if snapshot.status == "cancelled" and not visit:
        # Nothing failed: its parent did. Deferred failures stay deferred.
        return []
    found = [one for one in snapshot.failures if not visit or one.visit == visit]
    if found:
        return found
    names = ", ".join(f"`{one.visit}`" for one in snapshot.failures)
    raise RefusedError("not_failed", f"`{visit}` is not a step that failed this run", f"Failed: {names}.")


def started_over(snapshot: Snapshot, visit: str) -> list[Failure]:
    """The failures that a retry of a visit starts over, with those of branches, and the one that ended the run if it is
    another one."""
    chosen, kept = failures_of(snapshot, visit), kept_of(snapshot)
    chosen += [one for one in snapshot.failures if one.state in kept.entering and one not in chosen]
    return [part for one in chosen for part in one.parts()]


def reopened(structure: Structure, snapshot: Snapshot, event: Reopen, limits: Limits) -> Run:
    """A run in progress again. Raises `RefusedError` if it can't be continued."""
    kept, failures = kept_of(snapshot), failures_of(snapshot, event.visit)
    resumed = started_over(snapshot, event.visit)
    again = snapshot.copy()
    again.status, again.kept, again.result = "running", None, None
    # The handler has run. Its steps and its `error` belong to the failure that is now made up for.
    if again.handling:
        again.handling = False
        again.scope = {name: value for name, value in again.scope.items() if name != ERROR}
    # The time while the run had failed does not count.
    if structure.time_limit is not None:
        again.ends_at = event.at + structure.time_limit
    # Copies, since their deadlines are set again below and the ended snapshot must stay as it is.
    again.pending = {visit: one.copy() for visit, one in kept.pending.items()}
    run = Run(structure, again, event, limits)
    active, chosen = set(kept.configuration), set[str]()
    steps = [one for one in failures if one.state != GATE]
    # In document order, so that an earlier step is chosen before the later ones that it leads to.
    for failure in sorted(steps, key=lambda one: structure.nodes[one.entered].order):
        there = _moved(structure.nodes[failure.entered], active, structure)
        # A step that comes before others that failed leads to them again.
        if there >= chosen:
            active = there
            # Moving to this step must not leave a step chosen before it, so it is accepted only if all of
            # those stay active.
            chosen.add(failure.entered)
        if failure.entered in chosen and failure.entered in structure.joined:
            frame = _begun_again(failure, structure)
            active = active - {failure.entered} | frame
            chosen |= {name for name in frame if structure.nodes[name].is_atomic}
    entering = active & (chosen | set(kept.entering))
    for failure in resumed:
        if failure.entered in entering:
            _renew_turns(structure, again, failure)
            if failure.children is not None:
                run.resumed[failure.state] = failure.children
    # A run that was cancelled with its parent has not failed: its deferred failures are still current.
    is_old = snapshot.status == "failed"
    left = [replace(one, is_old=one.is_old or is_old) for one in snapshot.failures if one not in failures]
    again.failures, again.error = left, left[0].error if left else None
    again.configuration = sorted(active, key=lambda name: structure.nodes[name].order)
    # Visits beside the failed step that the move has left are over.
    again.pending = {visit: one for visit, one in again.pending.items() if one.state in active}
    _go_on(run, Interpreter(structure, run, again.configuration), entering)
    return run


def _go_on(run: Run, interpreter: Interpreter, entering: set[str]) -> None:
    run.interpreter = interpreter
    # A copy, because continuing may end visits while this loop runs.
    before = dict(run.snapshot.pending)
    run.outcome.resumed = [one.state for one in before.values()]
    for one in before.values():
        run.structure.steps[one.state].restart(run, one)
        run.outcome.reopened += [str(child["run"]) for child in one.children if child and "run" in child]
    # After the time limits are restarted: resuming can complete a wait that is over by now.
    interpreter.resume(entering)
    for visit, one in before.items():
        effect = run.structure.steps[one.state]
        if one.interrupted_at is not None and isinstance(effect, Ask) and visit in run.snapshot.pending:
            # A server was executing it when the run ended.
            effect.interrupted(run, visit, one.interrupted_at)
    run.snapshot.configuration = interpreter.configuration


def _moved(target: Node, active: set[str], structure: Structure) -> set[str]:
    """The active states with this one among them. A branch that ended before stays at its end."""
    if target.id in active:
        return active
    # The innermost ancestor that is active stays; everything inside it is replaced by the way to the target.
    around = next(node for node in target.ancestors if node.id in active)
    moved = {name for name in active if around not in structure.nodes[name].ancestors}
    for node in target.path:
        if node is around:
            break
        moved.add(node.id)
        for branch in node.children if node.is_parallel else ():
            if branch not in target.path:
                moved |= {branch.id, next(child.id for child in branch.children if child.is_final)}
    return moved


def _begun_again(failure: Failure, structure: Structure) -> set[str]:
    """The states of a parallel step whose branches have ended: a branch that failed is at the step that failed in it,
    the others stay at their end."""
    frame = structure.joined[failure.state]
    # The branches did not all end, or the run failed under an earlier version of wfc, which kept no failures of them.
    if not failure.branches:
        return set(with_defaults(frame))
    found = {frame.id}
    for branch in frame.children:
        inner = failure.branches.get(branch.id)
        if inner is None:
            found |= {branch.id, next(child.id for child in branch.children if child.is_final)}
            continue
        target = _where(inner, branch, structure)
        found |= {node.id for node in target.path if branch in node.path}
        if target.id in structure.joined:
            found = found - {target.id} | _begun_again(inner, structure)
        else:
            found |= with_defaults(target).keys()
    return found


def _where(failure: Failure, branch: Node, structure: Structure) -> Node:
    """Where a branch that failed continues: at the step that failed, or at the beginning of what was left with it."""
    state = structure.nodes.get(failure.state)
    around = structure.loops_around.get(failure.state, ())
    # The item of a loop's iteration is not kept.
    if state is None or any(branch in structure.nodes[turn].ancestors for turn in around):
        return branch
    # The other branches of a parallel step that fails with its first branch were cancelled.
    inside = [node for node in state.path[::-1] if branch in node.ancestors and node.is_parallel]
    return next(iter(inside), state)


def _renew_turns(structure: Structure, snapshot: Snapshot, failure: Failure) -> None:
    """A retried visit is not an iteration. A loop that failed at `max_iterations` may do that many iterations again."""
    if failure.gate is not None:
        _renew_jumps(structure, snapshot)
        return
    node = structure.nodes[failure.state]
    edges = [*node.eventless, *(edge for found in node.on.values() for edge in found)]
    if any(_counts(one) for edge in edges for one in edge.guards):
        done = snapshot.loops.get(node.id, 0)
        is_over = failure.error["code"] == "max_iterations"
        # Otherwise this visit is entered again and counted twice, so the base is moved by one.
        snapshot.loops[node.id] = snapshot.visits[node.id] if is_over else done + 1


def _counts(guard: Guarding) -> bool:
    return isinstance(guard, NextItem) or (isinstance(guard, Condition) and guard.most is not None)


def _renew_jumps(structure: Structure, snapshot: Snapshot) -> None:
    """Jumps that were used up are allowed again: otherwise the decision at a gate could only be the same one."""
    for node in structure.nodes.values():
        visits = snapshot.visits.get(node.id, 0)
        guards = [guard for edge in node.eventless for guard in edge.guards if isinstance(guard, Condition)]
        if any(one.most is not None and visits - snapshot.loops.get(node.id, 0) > one.most for one in guards):
            snapshot.loops[node.id] = visits
