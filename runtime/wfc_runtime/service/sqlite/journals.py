"""The journal on SQLite. The books of the runs that were written last are kept, and read on from where they end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock

from wfc_runtime.contract import Json
from wfc_runtime.machine.values import Limits
from wfc_runtime.service.history import shown_event
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.journal import Book
from wfc_runtime.service.journal_entries import Draft
from wfc_runtime.service.journal_reports import KIND, logged_for, prepared, stored, subject_of, with_blockers
from wfc_runtime.service.sqlite.unit_of_work import LoadedRun, UnitOfWork
from wfc_runtime.store import HistoryRow, Queries

_KEPT = 32


class Journals:
    def __init__(self) -> None:
        self._books: OrderedDict[str, tuple[Book, HistoryRow]] = OrderedDict()
        """By run: its book, and the last event in it."""
        self._lock = Lock()

    def log(self, unit: UnitOfWork, loaded: LoadedRun, draft: Draft, at: float) -> Reply:
        """Enter something into the journal of a run."""
        # The lock covers reading and deciding: two entries at the same time would otherwise both be
        # considered new.
        with self._lock:
            book = self._book(unit.queries, loaded, at)
            referred = None if draft.refers is None else unit.queries.event(loaded.row.key, draft.refers)
            if referred is not None and referred.kind != KIND:
                # Reports are not in the books that are kept.
                rows = [*unit.queries.journal(loaded.row.key), referred]
                found = (shown_event(row) for row in sorted(rows, key=lambda row: row.seq))
                book = Book(subject_of(loaded, at), found)
            decided = draft.decide(book)
        # The same content again: nothing is written.
        if decided.data is None:
            return dict(decided.reply)
        # The id of an issue is that of its event, which gets the next number.
        opened = {f"{loaded.row.id}:{loaded.row.version + 1}": decided.opens} if decided.opens else {}
        closed = () if decided.closes is None else (decided.closes,)
        loaded.snapshot = with_blockers(loaded.now, opened, closed)
        entry = unit.note(loaded, KIND, stored(decided.data), decided.visit)
        return decided.reply_for(entry.seq)

    def _book(self, queries: Queries, loaded: LoadedRun, at: float) -> Book:
        """The journal as it is on disk, as far as a new entry depends on it."""
        # Popped and put back, which also makes it the most recently used.
        subject, kept = subject_of(loaded, at), self._books.pop(loaded.row.id, None)
        rows = queries.journal(loaded.row.key, kept[1].seq if kept else 0)
        # The last event that is known comes first. Another one: the run was deleted and imported again.
        if kept is None or kept[0].subject.machine is not subject.machine or rows[:1] != [kept[1]]:
            book, rows = Book(subject, ()), queries.journal(loaded.row.key) if kept else rows
        else:
            book, rows = kept[0], rows[1:]
        book.subject = subject
        for row in rows:
            book.read(shown_event(row))
        last = rows[-1] if rows else kept[1] if kept else None
        if last is not None:
            self._books[loaded.row.id] = (book, last)
            if len(self._books) > _KEPT:
                self._books.popitem(last=False)
        return book


def prepared_result(
    queries: Queries, loaded: LoadedRun, visit: str, answer: Json, at: float, limits: Limits
) -> Json:
    """The result that an answer stands for: a report contains what was logged for its visit."""

    def logged() -> Iterator[dict[str, Json]]:
        return logged_for(loaded.row.id, queries.journal(loaded.row.key), visit)

    return prepared(subject_of(loaded, at), visit, answer, logged, limits)
