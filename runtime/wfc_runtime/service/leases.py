"""The rules of leases and budgets that are the same on every engine."""

from __future__ import annotations

from collections.abc import Mapping

from wfc_runtime.contract import HUMAN_KINDS
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.budget import Account, account_of
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.store import RunRow


def check_leasable(machine: AnyMachine, now: Snapshot, visit: str) -> None:
    """Raise `RefusedError` unless a visit is an action that a process can do. A prompt is not: a person answers it."""
    pending = now.pending.get(visit)
    if pending is None:
        raise RefusedError("not_pending", f"`{visit}` is not pending")
    effect = machine.steps[pending.state]
    is_action = isinstance(effect, Ask) and effect.kind not in HUMAN_KINDS and effect.wait_seconds is None
    if not is_action or pending.resume_at is not None or pending.interrupted_at is not None:
        raise RefusedError("not_leasable", f"`{visit}` is not an action that a server can do")


def claimed_error(visit: str) -> RefusedError:
    return RefusedError("claimed", f"the server is executing `{visit}`; do not do it yourself")


def busy_error(visit: str) -> RefusedError:
    """The error for a change of the state while a process works with it."""
    return RefusedError("claimed", f"the server is executing `{visit}`", "Update the state when it is done.")


def not_claimed_error(visit: str) -> RefusedError:
    return RefusedError("not_claimed", f"`{visit}` is no longer claimed by this server")


def lowered_account(
    machine: AnyMachine, now: Snapshot, row: RunRow, limits: Mapping[str, float], spent: dict[str, float]
) -> Account:
    """The account of a root run whose budget is lowered, or set if it has none. `spent`: the spending of its family."""
    # An account that exists already has the limits of the workflow in it.
    own = {} if now.budget.get("") else machine.budget
    least = {**own, **{kind: min(most, own.get(kind, most)) for kind, most in limits.items()}}
    return {**account_of(f"`{row.workflow}`", least, row.created), "spent": spent}
