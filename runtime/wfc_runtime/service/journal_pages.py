"""The journal as readers get it: filtered, in pages, oldest first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import groupby
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.errors import RequestError, guess
from wfc_runtime.machine.values import size_of
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.journal import Book, Entry, Phase, Task

SECTIONS = ("decisions", "milestones", "issues", "blockers", "tasks", "phase_summary")
_OF_KIND = {"decision": "decisions", "milestone": "milestones", "issue": "issues"}
_MOST_CHARACTERS = 30_000
"""Of a page: clients put longer replies into files."""
_MOST_OF_SCREEN = 1_000_000
"""Of a page for a person."""
_MOST_OUTSIDE = 50
"""Paths outside of the scopes that a phase lists."""
_LONGEST = 500
"""Characters of each text, if one event alone has more entries than fit on a page."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries, tasks and phases to show. An empty text means all."""

    agent: str = ""
    phase: str = ""
    task: str = ""
    since: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Json]) -> Filter:
        known = [one.name for one in fields(cls)]
        # An unknown filter must be an error: ignored, it would return more than was asked for, without a
        # sign.
        for name, value in given.items():
            if name not in known:
                hint = f"{guess(name, known)}Use {', '.join(known)}."
                raise RequestError("invalid_filter", f"`filter` has no `{name[:40]}`", hint)
            if not isinstance(value, str):
                raise RequestError("invalid_filter", f"`filter.{name}` must be text")
        found = cls(**given)
        if found.since:
            _moment(found.since)
        return found

    def takes(self, agent: str, phase: str, task: str, at: str) -> bool:
        return (
            self.agent.removeprefix("@") in ("", agent)
            and self.phase.rpartition("/")[2] in ("", phase)
            and self.task.rpartition("/")[2] in ("", task)
            and (not self.since or (bool(at) and _moment(at) >= _moment(self.since)))
        )


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise RequestError(
            "invalid_filter",
            f"`filter.since` is not a time: {text[:40]!r}",
            "Use the form 2026-01-31T12:00:00Z.",
        ) from None
    # A time without a zone is local time, as in other tools; comparing it with one that has a zone would
    # raise.
    return found if found.tzinfo is not None else found.astimezone()


def page_of(book: Book, include: Sequence[str] | None, chosen: Filter, after: int, limit: int) -> Reply:
    """A page of the journal: the entries and tasks after an event, with `next` for the next page."""
    wanted, run = _sections(include), book.subject.id
    reply, last = _page(book, wanted, chosen, after, limit, _MOST_CHARACTERS)
    if last is None:
        return {**reply, "next": "nothing: that is all so far"}
    more = f", include={_quoted(include)}" if include else ""
    also = "".join(f', "{name}": "{value}"' for name, value in _given(chosen))
    filtered = f", filter={{{also[2:]}}}" if also else ""
    following = f'get_context(workflow_id="{run}"{more}{filtered}, after={last}, limit={limit})'
    return {**reply, "next": following}


def journal_page(book: Book, after: int, limit: int) -> Reply:
    """A page for a person: with the summaries of the run, and `after` for the next page."""
    reply, last = _page(book, SECTIONS, Filter(), after, limit, _MOST_OF_SCREEN)
    summaries = [shown_entry(book, one) for one in book.entries if one.kind == "summary"]
    reply |= {"summaries": summaries, "limit": limit}
    return reply if last is None else {**reply, "after": last}


def _page(
    book: Book, wanted: Sequence[str], chosen: Filter, after: int, limit: int, room: int
) -> tuple[dict[str, Any], int | None]:
    """The sections of a page, and its last event if others follow."""
    found = [one for one in _lines(book, wanted, chosen) if one[0] > after]
    reply: dict[str, Any] = {"workflow_id": book.subject.id, "status": _status(book)}
    reply |= {name: [] for name in SECTIONS if name in wanted}
    if "phase_summary" in wanted:
        reply["phase_summary"] = [
            shown_phase(book, one)
            for one in sorted(book.phases.values(), key=lambda phase: phase.number)
            if chosen.phase.rpartition("/")[2] in ("", one.name)
        ]
    last = after
    for seq, group in _pages(found, limit, room):
        last = seq
        for section, line in group:
            reply[section].append(line)
    return reply, last if any(seq > last for seq, _, _ in found) else None


def _given(chosen: Filter) -> list[tuple[str, str]]:
    found = [(one.name, str(getattr(chosen, one.name))) for one in fields(chosen)]
    return [(name, value) for name, value in found if value]


def _quoted(names: Sequence[str]) -> str:
    return json.dumps(list(names))


def _sections(include: Sequence[str] | None) -> tuple[str, ...]:
    if not include:
        return SECTIONS
    for name in include:
        if name not in SECTIONS:
            hint = f"{guess(name, SECTIONS)}Use {', '.join(SECTIONS)}."
            raise RequestError("invalid_section", f"`include` has no `{name[:40]}`", hint)
    return tuple(include)


def _status(book: Book) -> str:
    status = book.subject.now.status
    return "pending_action" if status == "running" and book.subject.now.pending else status


Line = tuple[int, str, dict[str, Json]]


def _lines(book: Book, wanted: Sequence[str], chosen: Filter) -> list[Line]:
    """All that the sections have, in the order of the events."""
    found: list[Line] = []
    for entry in book.entries:
        if not chosen.takes(entry.agent, entry.phase, entry.task, entry.at):
            continue
        # A blocker appears in one section only, so that pages do not count it twice.
        section = "blockers" if entry.is_blocker and "blockers" in wanted else _OF_KIND.get(entry.kind, "")
        if section in wanted:
            found.append((entry.seq, section, shown_entry(book, entry)))
    if "tasks" in wanted:
        for task in book.tasks.values():
            if chosen.takes(task.agent, task.phase, task.name, task.began):
                found.append((task.seq, "tasks", shown_task(book, task)))
    return sorted(found, key=lambda line: line[0])


def _pages(
    lines: Sequence[Line], limit: int, room: int
) -> Iterator[tuple[int, list[tuple[str, dict[str, Json]]]]]:
    """The lines of the page, event by event: those of one event stay together, since a page ends at an event."""
    count, most = 0, room
    for seq, found in groupby(lines, key=lambda line: line[0]):
        group = [(section, line) for _, section, line in found]
        size = sum(size_of(line) for _, line in group)
        # The first group is always returned, however large it is: an empty page would never end.
        if count and (count + len(group) > limit or size > room):
            return
        if size > most:
            group = [(section, _cut(line)) for section, line in group]
        count, room = count + len(group), room - size
        yield seq, group


def _cut(line: dict[str, Json]) -> dict[str, Json]:
    def short(value: Json) -> Json:
        if isinstance(value, str) and len(value) > _LONGEST:
            return f"{value[:_LONGEST]}..."
        return [short(one) for one in value[:20]] if isinstance(value, list) else value

    return {name: short(value) for name, value in line.items()}


# One entry, one task, one phase.


def shown_entry(book: Book, entry: Entry) -> dict[str, Json]:
    about = {"agent": entry.agent, "phase": entry.phase, "actor": entry.actor}
    return {
        "entry": entry.id,
        "at": entry.at,
        "task": book.id_of(entry.task),
        "by": entry.by,
        **{name: value for name, value in about.items() if value},
        **entry.content,
    }


def shown_task(book: Book, task: Task) -> dict[str, Json]:
    about: dict[str, Json] = {
        "agent": task.agent,
        "phase": task.phase,
        "parent": task.parent and book.id_of(task.parent),
        "goal": task.goal,
        "areas": task.areas,
        "began": task.began,
        "ended": task.ended,
        "seconds": task.seconds,
        "outcome": task.outcome,
        "files": task.files,
        "outside_scope": task.outside,
        "proof": task.proof if task.files else "",
    }
    return {
        "task": book.id_of(task.name),
        "name": task.title,
        "status": task.status,
        "by": task.by,
        **{name: value for name, value in about.items() if value not in ("", None, [])},
    }


def shown_phase(book: Book, phase: Phase) -> dict[str, Json]:
    tasks = [one for one in book.tasks.values() if one.phase == phase.name]
    about = {"began": phase.began, "ended": phase.ended, "summary": phase.summary}
    return {
        "phase": book.id_of(phase.name),
        "number": phase.number,
        "name": phase.title,
        "status": phase.status,
        "tasks": len(tasks),
        "open_tasks": sum(one.status == "open" for one in tasks),
        **{name: value for name, value in about.items() if value},
        **_shown_changes(phase),
    }


def _shown_changes(phase: Phase) -> dict[str, Json]:
    """The git comparison: proof if the server made it, a claim if an agent submitted it."""
    if phase.changes is None:
        return {}
    found: dict[str, Json] = {
        "files_changed": phase.changes.get("total", 0),
        "proof": "server" if phase.changes.get("proved") else "agent",
    }
    outside = list(phase.changes.get("outside_scope") or ())
    if not outside:
        return found
    count = phase.changes.get("outside_total", len(outside))
    return {**found, "outside_scope": outside[:_MOST_OUTSIDE], "outside_total": count}


def whole_journal(book: Book) -> dict[str, Json]:
    """All of a journal as one value."""
    lines = _lines(book, SECTIONS, Filter())
    found: dict[str, Json] = {"workflow_id": book.subject.id, "status": _status(book)}
    found |= {name: [line for _, section, line in lines if section == name] for name in SECTIONS}
    found["phase_summary"] = [shown_phase(book, one) for one in book.phases.values()]
    found["summaries"] = [shown_entry(book, one) for one in book.entries if one.kind == "summary"]
    return found
