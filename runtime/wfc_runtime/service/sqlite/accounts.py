"""The cost of an action, and the budgets that it counts towards: those of its step, of the steps and workflows around
it, and of the root run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wfc_runtime.contract import HUMAN_KINDS, Json
from wfc_runtime.machine.budget import GATE_VISIT, Account, account_of, used
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.events import Spent
from wfc_runtime.machine.snapshot import GATE
from wfc_runtime.machine.spawn import Spawn

if TYPE_CHECKING:
    from wfc_runtime.service.sqlite.unit_of_work import LoadedRun
    from wfc_runtime.service.sqlite.work import Work
    from wfc_runtime.store import HistoryRow, Queries, RunRow

_PAGE = 500
ROOT = ""
"""The key of the root run's own account."""


def accounts_for(work: Work, loaded: LoadedRun, visit: str) -> dict[str, Account]:
    """The accounts that a visit belongs to, as the root run has them, or new ones; from the step outwards."""
    levels = list(levels_of(work, loaded, visit))
    root = levels[-1][0]
    found: dict[str, Account] = {}
    for run, at in levels:
        pending = run.now.pending.get(at)
        effect = run.machine.steps.get(pending.state) if pending is not None else None
        if pending is not None and isinstance(effect, (Ask, Spawn)) and effect.budget:
            found[f"{run.row.id}/{at}"] = account_of(f"step `{at}`", effect.budget, pending.since or work.at)
        if run.row.task is None and (run.machine.budget or (run is root and root.now.budget)):
            key = ROOT if run is root else run.row.id
            found[key] = account_of(f"`{run.row.workflow}`", run.machine.budget, run.row.created)
    return {key: root.now.budget.get(key, account) for key, account in found.items()}


def levels_of(work: Work, loaded: LoadedRun, visit: str) -> Iterator[tuple[LoadedRun, str]]:
    """The run and its ancestors, each with the visit that the action is part of."""
    run, at = loaded, visit
    while True:
        yield run, at
        if run.row.parent_row is None and run.row.parent is None:
            return
        at = run.row.visit or ""
        run = run.parent or work.unit.load(_row(work, run.row.parent))


def _row(work: Work, key: int | None) -> Any:
    assert key is not None
    found = work.queries.run_of_key(key)
    assert found is not None
    return found


def root_of(work: Work, loaded: LoadedRun) -> LoadedRun:
    if loaded.row.parent is None and loaded.parent is None:
        return loaded
    if loaded.parent is not None:
        return root_of(work, loaded.parent)
    return work.unit.load(_row(work, loaded.row.root))


def spend(work: Work, loaded: LoadedRun, accounts: Mapping[str, Account], usage: Mapping[str, float]) -> None:
    """Charge the accounts. A run that has ended with this action owes nothing."""
    root = root_of(work, loaded) if accounts else loaded
    if accounts and usage and root.now.status == "running":
        event = Spent(at=work.at, id=root.next_event_id, usage=dict(usage), accounts=dict(accounts))
        work.apply(root, event)


def usage_of(loaded: LoadedRun, visit: str, result: Json, reported: Mapping[str, Any]) -> dict[str, float]:
    """The cost of a submitted result: one step, and the money and tokens that were reported with it or in it."""
    pending = loaded.now.pending.get(visit)
    effect = loaded.machine.steps.get(pending.state) if pending is not None else None
    if not isinstance(effect, Ask) or effect.kind in HUMAN_KINDS or effect.wait_seconds is not None:
        return {}
    inside = {"tokens": result.get("tokens_used")} if isinstance(result, dict) and not reported else {}
    found = {kind: _number({**inside, **reported}.get(kind)) for kind in ("usd", "tokens")}
    return {"steps": 1, **{kind: value for kind, value in found.items() if value}}


def _number(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e12 else 0


def is_gated(work: Work, loaded: LoadedRun) -> bool:
    """Whether a used-up budget of the root run holds back this child."""
    if loaded.row.parent is None and loaded.parent is None:
        return False
    row = work.queries.run_of_key(loaded.row.root)
    known = work.unit.known(row.id) if row is not None else None
    if known is not None:
        return any(one.state == GATE for one in known.now.pending.values())
    return row is not None and any(one.startswith(GATE_VISIT) for one in row.pending.split())


def spent_by(queries: Queries, row: RunRow, session: str | None = None) -> dict[str, float]:
    """The cost of a run and its children so far, from their histories; or only that of one session."""
    found: dict[str, float] = {}
    todo = [row]
    for one in todo:
        todo += queries.children(one.key)
        for event in _events(queries, one):
            data = json.loads(event.data)
            call = data.get("agent") or data.get("usage") or {}
            if session is not None and call.get("session") != session:
                continue
            if event.kind == "submitted" and "agent" in data:
                found["steps"] = found.get("steps", 0) + 1
            for kind in ("usd", "tokens") if event.kind != "spent" else ():
                found[kind] = found.get(kind, 0) + _number(call.get(kind))
    return {kind: value for kind, value in found.items() if value}


def session_of(queries: Queries, row: RunRow, label: str, program: str) -> str | None:
    """The latest session of a label with an agent's program, from the history of the run that has the label."""
    found = None
    for event in _events(queries, row):
        if event.kind == "session":
            data = json.loads(event.data)
            if (data["label"], data["program"]) == (label, program):
                found = str(data["session"])
    return found


def _events(queries: Queries, row: RunRow) -> Iterator[HistoryRow]:
    after = 0
    while events := queries.history(row.key, after, _PAGE):
        after = events[-1].seq
        yield from events


def left_of(work: Work, loaded: LoadedRun, visit: str) -> dict[str, float]:
    """The remaining budget of an action, by kind: the minimum of all its accounts."""
    found: dict[str, float] = {}
    for account in accounts_for(work, loaded, visit).values():
        for kind, most in account["limit"].items():
            left = max(0.0, most - used(account, kind, work.at))
            found[kind] = min(left, found.get(kind, left))
    return found
