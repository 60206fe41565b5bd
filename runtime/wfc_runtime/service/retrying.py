"""Which visit a retry starts over, and which runs of a family are continued with it: the same on every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.reopening import failures_of, kept_of, started_over
from wfc_runtime.machine.snapshot import Snapshot


@dataclass(frozen=True)
class Retrying:
    """The parts of one run that are restarted."""

    visit: str = ""
    """The failed visit. Empty: all of several, or none in a run that was cancelled because its parent failed."""
    reopen: frozenset[str] = frozenset()
    """Its failed children that continue."""
    renews: bool = True
    """Whether its other failed children are started again."""


def is_failed_visit(snapshot: Snapshot, step_id: str) -> bool:
    """Whether a retry of the visit (or of any, if it is not named) would change the run."""
    return snapshot.status == "failed" and any(
        not step_id or one.visit == step_id for one in snapshot.failures
    )


def chosen_visit(snapshot: Snapshot, step_id: str, parent: str | None) -> str:
    """The failed visit that a caller means. Raises `RefusedError` if the run can't be retried."""
    # Only the parent has failed; retrying the child alone would leave the parent as it is.
    if snapshot.status == "cancelled" and snapshot.kept is not None and parent is not None:
        raise RefusedError(
            "not_failed", "the run was cancelled because its parent failed", _retry_instead(parent)
        )
    # Raises if the run can't be retried, regardless of the step.
    kept_of(snapshot)
    if not step_id and len(snapshot.failures) > 1:
        names = ", ".join(f"`{one.visit}`" for one in snapshot.failures)
        raise RefusedError("several_failed", f"several steps failed: {names}", "Name one of them as step_id.")
    return failures_of(snapshot, step_id)[0].visit


def whole(snapshot: Snapshot, visit: str, child: Callable[[str], Snapshot | None]) -> Retrying:
    """Start over a visit, or all failed ones, with all failed children. `child`: the snapshot of a child, if any."""
    found = set()
    for failure in started_over(snapshot, visit):
        for one in failure.children.children if failure.children else ():
            was = str(one["was"]) if one and "was" in one else ""
            now = child(was) if was else None
            # A child that somebody cancelled, that failed under an earlier version, or that has no place to continue
            # at, is started again.
            if now is not None and now.status == "failed" and now.failures and _has_gates(now):
                check_child(was, now)
                found.add(was)
    # Named in the history, so that the same retry of the child itself is recognized.
    visits = [visit] if visit else [one.visit for one in snapshot.failures]
    return Retrying(visits[0] if len(visits) == 1 else "", frozenset(found))


def _has_gates(snapshot: Snapshot) -> bool:
    return all(one.gate != "" for one in snapshot.failures)


def check_child(run: str, snapshot: Snapshot) -> None:
    """Raise a `RefusedError` for a child that can't be continued with its parent."""
    if snapshot.kept is None:
        raise RefusedError(
            "secrets",
            f"child run {run} had secrets, which were deleted when it ended, so the run can't be retried",
            "Start a new run.",
        )


def only(snapshot: Snapshot, run: str, child: str) -> Retrying:
    """Continue a failed parent for one of its failed children. The other children stay as they are."""
    kept = kept_of(snapshot)
    for failure in snapshot.failures:
        visits = [one.children for one in failure.parts() if one.children is not None]
        if any(_index_of(visit.children, child) is not None for visit in visits):
            # `renews=False`: the caller asked for this child, so its failed siblings are not started again.
            return Retrying(failure.visit, frozenset({child}), renews=False)
    if any(_index_of(one.children, child) is not None for one in kept.pending.values()):
        raise RefusedError("parent_failed", f"its parent {run} failed in another step", _retry_instead(run))
    raise no_longer_awaited(run)


def awaited_again(snapshot: Snapshot, run: str, child: str) -> tuple[str, int]:
    """The visit and the index of a failed child in a parent that still waits for other children."""
    for visit, pending in snapshot.pending.items():
        index = _index_of(pending.children, child)
        if index is not None:
            return visit, index
    raise no_longer_awaited(run)


def no_longer_awaited(run: str) -> RefusedError:
    return RefusedError("not_awaited", f"its parent {run} has continued without it")


def _index_of(children: list[dict[str, object] | None], child: str) -> int | None:
    return next((index for index, one in enumerate(children) if one and one.get("was") == child), None)


def _retry_instead(run: str) -> str:
    return f'Retry the parent first: retry_workflow(workflow_id="{run}").'
