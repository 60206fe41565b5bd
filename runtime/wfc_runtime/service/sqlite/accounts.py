"""The cost of an action, and the budgets that it counts towards: those of its step, of the steps and workflows around
it, and of the root run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wfc_runtime.machine.budget import GATE_VISIT, ROOT, Account, amount, is_used_up, own_accounts, used
from wfc_runtime.machine.events import Spent

if TYPE_CHECKING:
    from wfc_runtime.service.sqlite.unit_of_work import LoadedRun
    from wfc_runtime.service.sqlite.work import Work
    from wfc_runtime.store import HistoryRow, Queries, RunRow

_PAGE = 500


def accounts_for(work: Work, loaded: LoadedRun, visit: str) -> dict[str, Account]:
    """The accounts that a visit belongs to, as the root run has them, or new ones; from the step outwards."""
    levels = list(levels_of(work, loaded, visit))
    root = levels[-1][0]
    found: dict[str, Account] = {}
    for run, at in levels:
        found |= own_accounts(
            run.machine,
            run.now,
            at,
            run=ROOT if run is root else run.row.id,
            label=run.row.workflow if run.row.task is None else None,
            created=run.row.created,
            at=work.at,
        )
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


def is_gated(work: Work, loaded: LoadedRun) -> bool:
    """Whether a used-up budget of the root run holds back this child."""
    if loaded.row.parent is None and loaded.parent is None:
        return False
    row = work.queries.run_of_key(loaded.row.root)
    known = work.unit.known(row.id) if row is not None else None
    if known is not None:
        return is_used_up(known.now)
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
                found[kind] = found.get(kind, 0) + amount(call.get(kind))
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
