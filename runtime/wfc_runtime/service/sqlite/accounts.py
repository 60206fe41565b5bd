"""The cost of an action, and the budgets that it counts towards: those of its step, of the steps and workflows around
it, and of the root run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wfc_runtime.machine.budget import GATE_VISIT, ROOT, Account, is_used_up, least_left, own_accounts
from wfc_runtime.machine.events import Spent
from wfc_runtime.service.history import cost_of, shown_event

if TYPE_CHECKING:
    from wfc_runtime.service.sqlite.unit_of_work import LoadedRun
    from wfc_runtime.service.sqlite.work import Work
    from wfc_runtime.store import Queries, RunRow

_PAGE = 500


def accounts_for(work: Work, loaded: LoadedRun, visit: str) -> dict[str, Account]:
    """The accounts that a visit belongs to, as the root run has them, or new ones; from the step outwards."""
    levels = list(levels_of(work, loaded, visit))
    root = levels[-1][0]
    found: dict[str, Account] = {}
    # From the inside out, so the last level is the root run.
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
    # Known accounts have what was spent so far; new ones are created by the event that charges them.
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
    # Without accounts, the root run need not even be loaded.
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
    # Loaded in this call and perhaps changed by it, so the row in the store may be out of date.
    if known is not None:
        return is_used_up(known.now)
    return row is not None and any(one.startswith(GATE_VISIT) for one in row.pending.split())


def spent_by(queries: Queries, row: RunRow, session: str | None = None) -> dict[str, float]:
    """The cost of a run and its children so far, from their histories; or only that of one session."""
    family = [row]

    def events() -> Iterator[dict[str, Any]]:
        for one in family:
            family.extend(queries.children(one.key))
            yield from events_of(queries, one)

    return cost_of(events(), session)


def events_of(queries: Queries, row: RunRow) -> Iterator[dict[str, Any]]:
    after = 0
    while rows := queries.history(row.key, after, _PAGE):
        after = rows[-1].seq
        yield from map(shown_event, rows)


def left_of(work: Work, loaded: LoadedRun, visit: str) -> dict[str, float]:
    """The remaining budget of an action, by kind: the minimum of all its accounts."""
    return least_left(accounts_for(work, loaded, visit), work.at)
