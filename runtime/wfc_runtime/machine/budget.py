"""Budgets: the limits of what a run may spend, and the question to a person when one is used up.

All accounts of a family are in the snapshot of its root run: one for the run, and one for each step or called workflow
with its own budget. A budget that is used up adds a visit to the root run that asks whether as much again may be
spent. Nothing of the family is shown to agents until a person has answered it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from wfc_runtime import results
from wfc_runtime.contract import HUMAN_KINDS, ConfirmAnswer, Json
from wfc_runtime.errors import RefusedError, RequestError, StepError
from wfc_runtime.machine.effects import Ask, Effect, unfit
from wfc_runtime.machine.events import BudgetSet, Spent
from wfc_runtime.machine.snapshot import GATE, Failure, Pending, Snapshot
from wfc_runtime.machine.values import NotPlainError, plain_text

if TYPE_CHECKING:
    from wfc_runtime.machine.chart import AnyMachine
    from wfc_runtime.machine.run import Run

GATE_VISIT = "budget@gate"
"""How the visits of the question begin. No step's id has an `@`."""
KINDS = ("usd", "tokens", "steps", "seconds")


class Account(TypedDict):
    label: str
    limit: dict[str, float]
    given: dict[str, float]
    """The budget as it was set: a person who extends it adds as much again."""
    spent: dict[str, float]
    since: float


def account_of(label: str, limit: Mapping[str, float], since: float) -> Account:
    return {"label": label, "limit": dict(limit), "given": dict(limit), "spent": {}, "since": since}


ROOT = ""
"""The key of the root run's own account."""


def own_accounts(
    machine: AnyMachine, now: Snapshot, visit: str, *, run: str, label: str | None, created: float, at: float
) -> dict[str, Account]:
    """The accounts that a visit of one run belongs to: that of its step and that of its workflow. `label` is the
    workflow; None for a task, which has no budget of its own. `run` is empty for the root run."""
    found: dict[str, Account] = {}
    pending = now.pending.get(visit)
    effect = machine.steps.get(pending.state) if pending is not None else None
    budget = getattr(effect, "budget", None)
    if pending is not None and budget:
        # Keyed by run and visit: two runs of a family may have visits of the same name.
        found[f"{run}/{visit}"] = account_of(f"step `{visit}`", budget, pending.since or at)
    is_set = run == ROOT and bool(now.budget)
    if label is not None and (machine.budget or is_set):
        found[run] = account_of(f"`{label}`", machine.budget, created)
    return found


def usage_of(
    machine: AnyMachine, now: Snapshot, visit: str, result: Json, reported: Mapping[str, Any]
) -> dict[str, float]:
    """The cost of a submitted result: one step, and the money and tokens that were reported with it or in it."""
    pending = now.pending.get(visit)
    effect = machine.steps.get(pending.state) if pending is not None else None
    # Questions to people and waits cost nothing; an agent that relays them is not charged for a step.
    if not isinstance(effect, Ask) or effect.kind in HUMAN_KINDS or effect.wait_seconds is not None:
        return {}
    # Agents put their token count into the result; a count reported with the call takes precedence.
    inside = {"tokens": result.get("tokens_used")} if isinstance(result, dict) and not reported else {}
    found = {kind: amount({**inside, **reported}.get(kind)) for kind in ("usd", "tokens")}
    return {"steps": 1, **{kind: value for kind, value in found.items() if value}}


def amount(value: Any) -> float:
    """A reported number as it counts; 0 for anything else."""
    # An agent reports these numbers, so anything that is not a plausible amount counts as nothing.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e12 else 0


def checked_usage(usage: Any) -> dict[str, float]:
    """The usage that a caller reports with a result. Raises `RequestError` if it is something else."""
    if usage is None:
        return {}
    is_fine = isinstance(usage, dict) and all(
        kind in ("usd", "tokens")
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value < 1e12
        for kind, value in usage.items()
    )
    if not is_fine:
        raise RequestError("invalid_usage", "`usage` takes {usd, tokens}, each a number of 0 or more")
    return dict(usage)


def usage_in(call: Mapping[str, Json]) -> dict[str, float]:
    """The cost in the record of an agent's call."""
    return {kind: amount(call[kind]) for kind in ("usd", "tokens") if call.get(kind)}


def is_used_up(now: Snapshot) -> bool:
    """Whether a person is being asked about a used-up budget."""
    return any(one.state == GATE for one in now.pending.values())


# Time is not reported: it passes, so it is computed from the beginning of the account.
def used(account: Account, kind: str, at: float) -> float:
    return at - account["since"] if kind == "seconds" else account["spent"].get(kind, 0)


def least_left(accounts: Mapping[str, Account], at: float) -> dict[str, float]:
    """The remaining budget by kind: the minimum of all accounts."""
    found: dict[str, float] = {}
    for account in accounts.values():
        for kind, most in account["limit"].items():
            left = max(0.0, most - used(account, kind, at))
            found[kind] = min(left, found.get(kind, left))
    return found


def spend(run: Run, event: Spent) -> None:
    """Add the cost of a step to its accounts."""
    # A new mapping, since copies of the snapshot share the old one.
    accounts = run.snapshot.budget = dict(run.snapshot.budget)
    for key, given in event.accounts.items():
        # The account may not exist yet; the event then brings it as it is at the beginning.
        account = dict(accounts.get(key) or given)
        spent = account["spent"]
        account["spent"] = {
            **spent,
            **{kind: spent.get(kind, 0) + more for kind, more in event.usage.items()},
        }
        accounts[key] = account


def set_budget(run: Run, event: BudgetSet) -> None:
    """Lower the budget of the run, or set it if there is none. Earlier spending counts."""
    # Without a budget of its own, the run gets an empty account, which the limits below fill.
    known = run.snapshot.budget.get("") or {**event.account, "limit": {}, "given": {}}
    wanted = event.account["limit"]
    limit = {
        **known["limit"],
        # `min`: an operator can only lower a limit that the workflow sets.
        **{kind: min(most, known["limit"].get(kind, most)) for kind, most in wanted.items()},
    }
    account = {**known, "limit": limit, "given": {**known["given"], **wanted}}
    run.snapshot.budget = {**run.snapshot.budget, "": account}


def ask_if_used_up(run: Run) -> None:
    """Add the question for the first budget that is used up, unless one is being asked."""
    # One question at a time: a refusal ends the run, so the others may become unnecessary.
    if not run.snapshot.budget or is_used_up(run.snapshot):
        return
    for key, account in run.snapshot.budget.items():
        kinds = [kind for kind, most in account["limit"].items() if used(account, kind, run.event.at) >= most]
        if kinds:
            parts = [_words(kind, account, run.event.at) for kind in kinds]
            number = run.snapshot.visits.get(GATE, 0) + 1
            run.snapshot.visits[GATE] = number
            message = f"The budget of {account['label']} is used up: {', '.join(parts)}. Extend it by the same amount?"
            parameters: dict[str, Json] = {"prompt_type": "confirm", "message": message}
            pending = Pending(GATE, parameters, where={"account": key, "kinds": kinds})
            # The first one has no number, like the visits of steps.
            visit = f"{GATE_VISIT}{number if number > 1 else ''}"
            # First, since lists show the first visits only.
            run.snapshot.pending = {visit: pending, **run.snapshot.pending}
            return


def _words(kind: str, account: Account, at: float) -> str:
    most, spent = account["limit"][kind], used(account, kind, at)
    if kind == "usd":
        return f"{_usd(spent)} of {_usd(most)} USD"
    return f"{spent:,.0f} of {most:,.0f} {kind}"


def _usd(value: float) -> str:
    # Less than a cent would be shown as 0.00, which looks like no budget at all.
    return f"{value:.2f}" if not 0 < value < 0.01 else f"{value:.6f}".rstrip("0")


@dataclass(frozen=True, kw_only=True)
class BudgetGate(Ask):
    """The question that a used-up budget asks."""

    def schema(self, pending: Pending) -> Json:
        return self._whole_schema

    def answer(self, run: Run, visit: str, result: Json) -> None:
        try:
            run.outcome.result_text, _ = plain_text(result, run.limits.result_bytes, run.limits.nesting)
        except NotPlainError as error:
            raise unfit(str(error)) from None
        wrong = results.problems(result, self._whole_schema)
        # An invalid answer never fails the run: the person is asked again.
        if wrong:
            run.outcome.refusal = RefusedError(
                "result_misfit",
                f"the answer to `{visit}` does not fit: {'; '.join(wrong)}",
                "Ask the person again.",
            )
            return
        pending = run.snapshot.pending.pop(visit)
        key, kinds = pending.where["account"], pending.where["kinds"]
        account = run.snapshot.budget[key]
        if not result["confirmed"]:
            message = f"the budget of {account['label']} is used up, and was not extended"
            run.end(Failure(GATE, StepError("budget", message).record(visit)))
            return
        limit = {
            # By the budget that was set first, not by the current limit: repeated extensions would otherwise
            # double it.
            **account["limit"],
            **{kind: account["limit"][kind] + account["given"][kind] for kind in kinds},
        }
        run.snapshot.budget = {**run.snapshot.budget, key: {**account, "limit": limit}}


_GATE = BudgetGate(kind="prompt", result=ConfirmAnswer)


class Steps(dict[str, Effect]):
    """The effects of a machine by state, and that of the budget, which is not a state of the chart."""

    # The gate belongs to every machine. As an ordinary entry it would be listed with the author's steps.
    def __missing__(self, key: str) -> Effect:
        if key == GATE:
            return _GATE
        raise KeyError(key)

    def get(self, key: str, default: Effect | None = None) -> Effect | None:  # type: ignore[override]  # no other default
        return _GATE if key == GATE else super().get(key, default)
