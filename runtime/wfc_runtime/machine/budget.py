"""Budgets: the limits of what a run may spend, and the question to a person when one is used up.

All accounts of a family are in the snapshot of its root run: one for the run, and one for each step or called workflow
with a budget of its own. A budget that is used up adds a visit to the root run that asks whether as much again may be
spent. Nothing of the family is shown to agents until a person has answered it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from wfc_runtime import results
from wfc_runtime.contract import ConfirmAnswer, Json
from wfc_runtime.errors import RefusedError, StepError
from wfc_runtime.machine.effects import Ask, Effect, unfit
from wfc_runtime.machine.events import BudgetSet, Spent
from wfc_runtime.machine.snapshot import GATE, Failure, Pending
from wfc_runtime.machine.values import NotPlainError, plain_text

if TYPE_CHECKING:
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


def used(account: Account, kind: str, at: float) -> float:
    return at - account["since"] if kind == "seconds" else account["spent"].get(kind, 0)


def spend(run: Run, event: Spent) -> None:
    """Add the cost of a step to its accounts."""
    accounts = run.snapshot.budget = dict(run.snapshot.budget)
    for key, given in event.accounts.items():
        account = dict(accounts.get(key) or given)
        spent = account["spent"]
        account["spent"] = {
            **spent,
            **{kind: spent.get(kind, 0) + more for kind, more in event.usage.items()},
        }
        accounts[key] = account


def set_budget(run: Run, event: BudgetSet) -> None:
    """Lower the budget of the run, or set it if there is none. Earlier spending counts."""
    known = run.snapshot.budget.get("") or {**event.account, "limit": {}, "given": {}}
    wanted = event.account["limit"]
    limit = {
        **known["limit"],
        **{kind: min(most, known["limit"].get(kind, most)) for kind, most in wanted.items()},
    }
    account = {**known, "limit": limit, "given": {**known["given"], **wanted}}
    run.snapshot.budget = {**run.snapshot.budget, "": account}


def ask_if_used_up(run: Run) -> None:
    """Add the question for the first budget that is used up, unless one is being asked."""
    if not run.snapshot.budget or any(one.state == GATE for one in run.snapshot.pending.values()):
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
            visit = f"{GATE_VISIT}{number if number > 1 else ''}"
            # First, since lists show the first visits only.
            run.snapshot.pending = {visit: pending, **run.snapshot.pending}
            return


def _words(kind: str, account: Account, at: float) -> str:
    most, spent = account["limit"][kind], used(account, kind, at)
    if kind == "usd":
        return f"{spent:.2f} of {most:.2f} USD"
    return f"{spent:,.0f} of {most:,.0f} {kind}"


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
            **account["limit"],
            **{kind: account["limit"][kind] + account["given"][kind] for kind in kinds},
        }
        run.snapshot.budget = {**run.snapshot.budget, key: {**account, "limit": limit}}


_GATE = BudgetGate(kind="prompt", result=ConfirmAnswer)


class Steps(dict[str, Effect]):
    """The effects of a machine by state, and that of the budget, which is not a state of the chart."""

    def __missing__(self, key: str) -> Effect:
        if key == GATE:
            return _GATE
        raise KeyError(key)

    def get(self, key: str, default: Effect | None = None) -> Effect | None:  # type: ignore[override]  # no other default
        return _GATE if key == GATE else super().get(key, default)
