"""Reports and blockers: what was logged for a step becomes a part of its report; replies name what waits for a person.

Both engines prepare an answer in the same way before the machine gets it, so that a run is the same on either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wfc_runtime.contract import Json, Report
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.values import Limits, NotPlainError, check_plain, size_of
from wfc_runtime.service.answers import RunInMemory
from wfc_runtime.service.history import timestamp
from wfc_runtime.store import HistoryRow

KIND = "journal"
"""The kind of the events."""
LOGGED = ("decision", "milestone", "issue")
MOST_BLOCKERS = 50
"""Open blockers of a run, which are a part of its snapshot."""
_SHOWN_BLOCKER = 200
"""Characters of a blocker in replies. The journal has the whole text."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The run that a journal belongs to."""

    id: str
    machine: AnyMachine
    now: Snapshot
    agent: str | None = None
    """The agent that executes it, if it is a child run."""
    at: str = ""
    """The time of the call."""


def subject_of(run: RunInMemory, at: float) -> Subject:
    return Subject(run.row.id, run.machine, run.now, run.row.agent, timestamp(at))


# Steps that take a report, and what was logged for them.


def asked_states(machine: AnyMachine) -> dict[str, str]:
    """The state of each step that waits for an answer or for children, by the name that its visits have."""
    nodes = structure_of(machine).nodes
    waiting = (state for state, one in machine.steps.items() if isinstance(one, (Ask, Spawn)))
    return {nodes[state].name: state for state in waiting}


def phases_of(machine: AnyMachine) -> Mapping[str, Mapping[str, Json]]:
    """The phases that a workflow itself has, in order: each with its number, its name, its agents (roles by step), the
    steps that ask the person (`stop`, `checkpoint`), and the one that asks git (`changes`)."""
    return machine.facts.get("phases") or {}


def takes_report(machine: AnyMachine, state: str) -> bool:
    effect = machine.steps.get(state)
    return isinstance(effect, Ask) and effect.result is Report


def step_of(visit: str) -> str:
    return visit.partition("@")[0]


_SECTIONS = {"decision": "decisions", "milestone": "milestones", "issue": "issues"}
_MAIN = {"decision": ("question", "chosen"), "milestone": ("message",), "issue": ("description",)}
"""The key by which two entries are equal."""
_REPORTED = {
    "decision": ("question", "chosen", "reasoning", "category", "options_considered", "trade_offs"),
    "milestone": ("message", "progress"),
    "issue": ("description", "type", "requires_human", "resolution"),
}
_REQUIRED: dict[str, dict[str, Json]] = {
    "decision": {"reasoning": ""},
    "milestone": {},
    "issue": {"requires_human": False},
}
"""The fields that an entry in a report must have, although they are optional when it is logged."""
_SLACK = 256


def parts_of(report: Mapping[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    """The entries in a report, in the order of their kinds."""
    for kind, section in _SECTIONS.items():
        for one in items_of(report.get(section)):
            if isinstance(one, dict):
                yield kind, dict(one)


def is_same(kind: str, one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    return all(_words(one.get(name)) == _words(other.get(name)) for name in _MAIN[kind])


def _words(value: Json) -> Json:
    return " ".join(value.split()) if isinstance(value, str) else value


def items_of(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def with_logged(report: Json, logged: Iterable[Mapping[str, Json]], most_bytes: int) -> Json:
    """A report with what was logged for its visit, each thing once; blockers first, and no more than fits.

    `logged` are the journal's data. The same report if there is nothing to add.
    """
    entries = _current(logged)
    if not entries or not isinstance(report, dict) or "status" not in report:
        return report
    merged = {section: list(items_of(report.get(section))) for section in _SECTIONS.values()}
    room, changed = most_bytes - size_of(report) - _SLACK, False
    for kind, content in sorted(
        entries, key=lambda one: not (one[0] == "issue" and one[1].get("requires_human"))
    ):
        said = {
            **_REQUIRED[kind],
            **{name: content[name] for name in _REPORTED[kind] if name in content},
        }
        section = merged[_SECTIONS[kind]]
        known = [one for one in section if isinstance(one, dict) and is_same(kind, one, said)]
        # What the report has already is skipped, unless the log adds a resolution.
        if known and not (said.get("resolution") and not known[0].get("resolution")):
            continue
        if size_of(said) >= room:
            # It stays in the journal, which has it anyway.
            continue
        room -= size_of(said) + 1
        changed = True
        if known:
            section[section.index(known[0])] = {**known[0], "resolution": said["resolution"]}
        else:
            section.append(said)
    return {**report, **{name: one for name, one in merged.items() if one}} if changed else report


def _current(logged: Iterable[Mapping[str, Json]]) -> list[tuple[str, dict[str, Json]]]:
    """The decisions, milestones and issues among journal data, with their resolutions."""
    found: dict[Json, tuple[str, dict[str, Json]]] = {}
    for number, data in enumerate(logged):
        kind = data["entry"]
        if kind in LOGGED:
            found[data.get("id", number)] = (kind, dict(data))
        elif kind == "resolution" and data["issue"] in found:
            found[data["issue"]][1]["resolution"] = data["resolution"]
    return list(found.values())


def prepared(
    subject: Subject,
    visit: str,
    answer: Json,
    logged: Callable[[], Iterable[Mapping[str, Json]]],
    limits: Limits,
) -> Json:
    """The result to submit for a visit: the answer itself or, for a step that takes a report, the report with what was
    logged for the visit. The machine reports the problem of an answer that is not a report."""
    pending = subject.now.pending.get(visit)
    effect = subject.machine.steps.get(pending.state) if pending is not None else None
    if pending is None or not isinstance(effect, Ask) or effect.result is not Report:
        return answer
    try:
        check_plain(answer, limits.result_bytes, limits.nesting)
    except NotPlainError:
        # The machine reports what is wrong with such an answer.
        return answer
    # A timeout is a failure of the step, not a report.
    if isinstance(answer, dict) and answer.get("timed_out") is True:
        return answer
    report, unreadable = effect.read(pending, answer)
    return answer if unreadable else with_logged(report, logged(), limits.result_bytes)


# Blockers, as the replies of a run show them.


def shown_blocker(description: str) -> str:
    return description if len(description) <= _SHOWN_BLOCKER else f"{description[:_SHOWN_BLOCKER]}..."


def with_blockers(now: Snapshot, opened: Mapping[str, str], closed: Iterable[str] = ()) -> Snapshot:
    """A snapshot with other open blockers; the same one if nothing changes."""
    gone = set(closed)
    blockers = {id: text for id, text in {**now.blockers, **opened}.items() if id not in gone}
    if blockers == now.blockers:
        return now
    changed = now.copy()
    changed.blockers = blockers
    return changed


def with_reported_blockers(subject: Subject, state: str, report: Json, seq: int) -> Snapshot:
    """The snapshot after a report was accepted as event `seq`. A machine of phases stops at a blocker; in other
    languages the replies say so."""
    now = subject.now
    if not takes_report(subject.machine, state) or phases_of(subject.machine):
        return now
    if now.status != "running" or not isinstance(report, dict):
        return now
    opened, closed = dict[str, str](), list[str]()
    for number, (kind, content) in enumerate(parts_of(report), 1):
        text = now.mask.value(shown_blocker(str(content.get("description", ""))))
        # One that was logged before is there already.
        known = [id for id, one in now.blockers.items() if kind == "issue" and one == text]
        if kind == "issue" and content.get("resolution"):
            closed += known
        elif (
            kind == "issue"
            and content.get("requires_human")
            and not known
            and len(now.blockers) + len(opened) < MOST_BLOCKERS
        ):
            opened[f"{subject.id}:{seq}.{number}"] = text
    return with_blockers(now, opened, closed)


def stored(data: Mapping[str, Json]) -> dict[str, Json]:
    """Journal data as the history keeps it: under one key, so that none of its own is mistaken for an event's."""
    return {KIND: dict(data)}


def logged_for(run: str, rows: Iterable[HistoryRow], visit: str = "") -> Iterator[dict[str, Json]]:
    """The journal data of a visit, or of all tasks, each with the id of its entry."""
    for row in rows:
        data: dict[str, Json] = json.loads(row.data)[KIND]
        if data.get("task") and visit in ("", data["task"]):
            yield {**data, "id": f"{run}:{row.seq}"}
