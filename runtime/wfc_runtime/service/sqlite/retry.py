"""Retrying a failed run: its failed step is entered again, and so are the runs that failed with it."""

from __future__ import annotations

from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.machine.events import ChildRetried
from wfc_runtime.service.answers import as_repeated, with_next_call
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.retrying import (
    awaited_again,
    chosen_visit,
    is_failed_visit,
    no_longer_awaited,
    only,
)
from wfc_runtime.service.sqlite.unit_of_work import LoadedRun, UnitOfWork
from wfc_runtime.service.sqlite.work import Work, looked_at


def retry(work: Work, run: str, step_id: str) -> Reply | WfcError:
    """Continue a failed run. A visit that was retried before changes nothing."""
    loaded = work.unit.find(run)
    is_failed = is_failed_visit(loaded.now, step_id)
    if not is_failed and work.queries.was_retried(loaded.row.key, step_id):
        return as_repeated(looked_at(work, loaded))
    try:
        top = _plan(work, loaded, step_id)
        # The outermost failed run is reopened first; its event leads to those inside it.
        awaiting = _parent_of(work.unit, top)
        if awaiting is None:
            work.reopen(top.row.id)
        else:
            visit, index = awaited_again(awaiting.now, awaiting.row.id, top.row.id)
            event = ChildRetried(at=work.at, id=awaiting.next_event_id, visit=visit, index=index)
            work.apply(awaiting, event, visit)
    except RefusedError as refused:
        raise with_next_call(run, loaded.now, refused, looked_at(work, loaded)) from None
    return looked_at(work, loaded)


def _plan(work: Work, loaded: LoadedRun, step_id: str) -> LoadedRun:
    """Decide what is started over in the run, and in the parents that failed because of it. Returns the outermost."""
    parent = _parent_of(work.unit, loaded)
    visit = chosen_visit(loaded.now, step_id, parent.row.id if parent else None)
    work.retries[loaded.row.id] = work.whole_retry(loaded, visit)
    # A parent that failed only because of this child continues with it.
    while parent is not None and parent.now.status == "failed":
        work.retries[parent.row.id] = only(parent.now, parent.row.id, loaded.row.id)
        loaded, parent = parent, _parent_of(work.unit, parent)
    if parent is not None and parent.now.status != "running":
        raise no_longer_awaited(parent.row.id)
    return loaded


def _parent_of(unit: UnitOfWork, loaded: LoadedRun) -> LoadedRun | None:
    row = None if loaded.row.parent is None else unit.queries.run_of_key(loaded.row.parent)
    return None if row is None else unit.load(row)
