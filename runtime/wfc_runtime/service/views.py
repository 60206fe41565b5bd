"""Data about a run for pages, in addition to its reply: its visits as bars, its parents, its state at an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from wfc_runtime.contract import HUMAN_KINDS, Json
from wfc_runtime.errors import RequestError
from wfc_runtime.machine.effects import Ask, Delay, Effect
from wfc_runtime.machine.interpreter import Structure
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.values import size_of
from wfc_runtime.service.history import timestamp
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.path import Path
from wfc_runtime.service.replies import listed_run, shown_item
from wfc_runtime.store import RunRow

Event = Mapping[str, Any]
MOST_LISTED = 500
KINDS = (
    *("started", "submitted", "refused", "interrupted", "clock", "child_ended", "child_retried"),
    *("cancelled", "migrated", "moved", "checkpoint", "retried", "journal", "updated"),
)
FAILURES = "failures"
"""Used as a kind: every event with a failure, whether the run continued after it or not."""


def checked_kinds(kinds: Sequence[str] | None) -> frozenset[str] | None:
    """The kinds of events to show; None for all."""
    if kinds is None:
        return None
    unknown = [kind for kind in kinds if kind not in (*KINDS, FAILURES)]
    if unknown:
        known = ", ".join((*KINDS, FAILURES))
        raise RequestError("invalid_kind", f"unknown kind of event {str(unknown[0])[:40]!r}", f"Use {known}.")
    return frozenset(kinds)


def is_wanted(event: Event, kinds: frozenset[str] | None) -> bool:
    if kinds is None or event["event"] in kinds:
        return True
    noted = any("code" in note for note in event.get("notes", ()))
    failed = event["event"] in ("refused", "interrupted") or noted or bool(event.get("error"))
    return FAILURES in kinds and failed


def newest_first(run: str, workflow: str, events: list[dict[str, Any]], more: bool) -> Reply:
    """A page of the history from the end. `more`: whether there are earlier events."""
    reply: Reply = {"workflow_id": run, "workflow": workflow, "events": events}
    # The number of the oldest event on the page, from which the next page continues.
    return {**reply, "before": events[-1]["seq"]} if more and events else reply


def starter_of(events: Sequence[Event]) -> dict[str, Json]:
    """Who started a run, if its first event is there and says so."""
    first = events[0] if events else {}
    return {"started_by": first["actor"]} if first.get("event") == "started" and first.get("actor") else {}


# Visits: one bar of the timeline each.


def visits_of(
    structure: Structure, events: Sequence[Event], visits: Mapping[str, int], pending: Mapping[str, Any]
) -> list[dict[str, Json]]:
    """The visits of steps that take time, which began during the given events, oldest first.

    The events are the last ones of the run; `visits` are its counters after them, `pending` its pending visits.
    """
    # Counters before the given events, so that the visits in them get their numbers.
    counts = Counter(visits)
    for event in events:
        counts.subtract(event.get("entered", ()))
    found: list[dict[str, Json]] = []
    open_: dict[str, dict[str, Json]] = {}
    for event in events:
        left: Counter[str] = Counter(event.get("left", ()))
        # Closed first: an event may leave a state and enter it again, as another visit.
        for state in [state for state in open_ if left[state]]:
            left[state] -= 1
            _close(open_.pop(state), event)
        for state in event.get("resumed", ()):
            # Pending again after a retry, as the same visit.
            again = next((bar for bar in reversed(found) if bar["state"] == state), None)
            if again is not None:
                open_[state] = again
                for key in ("ended", "to", "seconds", "outcome"):
                    again.pop(key, None)
        for state in event.get("entered", ()):
            counts[state] += 1
            effect = structure.steps.get(state)
            # Other effects complete at once and would be bars of no length.
            if not isinstance(effect, (Ask, Spawn, Delay)):
                continue
            bar = _bar(structure, state, effect, counts, event)
            found.append(bar)
            # Entered and left by the same event, such as a step that failed at once.
            if left[state]:
                left[state] -= 1
                _close(bar, event)
            else:
                open_[state] = bar
    for bar in open_.values():
        one = pending.get(str(bar["step_id"]))
        if one is not None and one.overdue_at is not None:
            bar["overdue"] = timestamp(one.overdue_at)
    return found


def _bar(
    structure: Structure, state: str, effect: Effect, counts: Counter[str], event: Event
) -> dict[str, Json]:
    named = effect.step if isinstance(effect, Delay) else state
    name, number = structure.nodes[named].name, max(counts[named], 1)
    visit = name if number == 1 else f"{name}@{number}"
    return {
        "step_id": f"{visit}@retry" if isinstance(effect, Delay) else visit,
        "state": named,
        "type": type_of(effect),
        "waits_for": _awaited(effect),
        "began": event["at"],
        "from": event["seq"],
    }


def type_of(effect: Effect) -> str:
    """The kind of action that a step asks for, as replies name it."""
    if isinstance(effect, Ask):
        return effect.kind
    return (
        "pause"
        if isinstance(effect, Delay)
        else "call"
        if isinstance(effect, Spawn) and effect.is_call
        else "foreach"
    )


def _awaited(effect: Effect) -> str:
    if isinstance(effect, Spawn):
        return "children"
    if isinstance(effect, Delay) or (isinstance(effect, Ask) and effect.wait_seconds is not None):
        return "time"
    if isinstance(effect, Ask) and effect.kind in HUMAN_KINDS:
        return "person"
    return "server" if isinstance(effect, Ask) and effect.runner == "server" else "agent"


def _close(bar: dict[str, Json], event: Event) -> None:
    bar.update(ended=event["at"], to=event["seq"], seconds=_between(str(bar["began"]), event["at"]))
    notes = [note for note in event.get("notes", ()) if "code" in note]
    failures = [*notes, *([event["error"]] if "error" in event else [])]
    # An event can end several visits; only the failure of this one counts.
    failed = next((one for one in failures if one.get("step_id") == bar["step_id"]), None)
    mine = event.get("step_id") == bar["step_id"]
    if failed is not None:
        bar["outcome"] = "retried" if "retried" in failed else "failed"
    elif event["event"] == "cancelled":
        bar["outcome"] = "cancelled"
    else:
        # Left without an answer of its own: another branch has ended the step around it.
        bar["outcome"] = "done" if mine or bar["waits_for"] == "time" else "left"
    if mine and event.get("actor"):
        bar["by"] = event["actor"]


def _between(began: str, ended: str) -> float:
    return round((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds(), 3)


# The state at an event, as far as the history has it.


def folded_state(
    initial: Mapping[str, Json], events: Iterable[Event], seq: int, now: Mapping[str, Json]
) -> tuple[dict[str, Json], list[str], dict[str, Json]]:
    """The state after event `seq`; the fields whose value was too long for the history and has been overwritten
    since; and what the event itself wrote. `now`: the present state, redacted."""
    state, wrote = dict(initial), {}
    last: dict[str, int] = dict.fromkeys(initial, 0)
    for event in events:
        if event["seq"] <= seq:
            state.update(event.get("written", {}))
        if event["seq"] == seq:
            wrote = dict(event.get("written", {}))
        for name in event.get("written", {}):
            last[name] = event["seq"]
    unknown = []
    for name, value in state.items():
        if not _is_reference(value):
            continue
        # Not written after that event, so the present value is the one of that time.
        if last[name] <= seq and name in now:
            state[name] = now[name]
        else:
            unknown.append(name)
    return state, unknown, wrote


def _is_reference(value: Json) -> bool:
    """Whether the history has only the size of a value."""
    return isinstance(value, dict) and set(value) == {"bytes"}


def state_reply_at(
    row: RunRow, seq: int, state: Mapping[str, Json], wrote: Iterable[str], unknown: Sequence[str]
) -> Reply:
    sizes = {name: size_of(value) for name, value in state.items()}
    reply: Reply = {
        "workflow_id": row.id,
        "seq": seq,
        "state": dict(state),
        "sizes": sizes,
        "wrote": list(wrote),
    }
    return {**reply, "unknown": list(unknown)} if unknown else reply


# Relations between runs.


def relative(row: RunRow) -> dict[str, Json]:
    """A parent or a root, as a page links to it."""
    return {"workflow_id": row.id, "workflow": row.workflow, **({"task": row.task} if row.task else {})}


def child_row(row: RunRow, snapshot: Snapshot, at: float) -> dict[str, Json]:
    """A child in a list: the row of a run, and which item of which visit it is for."""
    shown = {**listed_run(row, at), **({"task": row.task} if row.task else {})}
    shown |= {"step_id": row.visit, "position": row.position}
    if "item" in snapshot.scope:
        shown["item"] = shown_item(snapshot.mask.value(snapshot.scope["item"]))
    return shown


# Totals, and the path.


def counts_reply(counts: Iterable[tuple[str, str, int]], waiting: int) -> Reply:
    """The numbers of runs by workflow and stored status, as callers name statuses."""
    total: Counter[str] = Counter()
    workflows: dict[str, Counter[str]] = {}
    for workflow, status, number in counts:
        shown = "pending_action" if status == "running" else status
        total[shown] += number
        workflows.setdefault(workflow, Counter())[shown] += number
    return {
        "runs": dict(total),
        "workflows": {name: dict(n) for name, n in workflows.items()},
        "waiting": waiting,
    }


def path_reply(run: str, path: Path) -> Reply:
    return {
        "workflow_id": run,
        "seq": path.seq,
        "current": path.current,
        "visited": dict(path.visited),
        "taken": [[source, target, count] for (source, target), count in path.taken.items()],
    }
