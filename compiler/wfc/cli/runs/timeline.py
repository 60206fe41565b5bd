"""The history of a run as a timeline that can be read without knowing the workflow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from wfc.cli.running.trail import StepNames

Event = dict[str, Any]
_WIDTH = 110


def render_timeline(
    family: Sequence[tuple[str, list[Event]]], replies: Mapping[str, dict[str, Any]], names: StepNames
) -> str:
    """The events of one run, or of a family with those of children further in, by time."""
    root = family[0][0]
    about = replies[root]
    lines = [f"{about.get('task') or about['workflow']}, run {root}: {about['status']}"]
    events = [(event["at"], run, event) for run, found in family for event in found]
    events.sort(key=lambda one: one[0])
    if not events:
        return f"{lines[0]}\nnothing has happened yet\n"
    begin, day = datetime.fromisoformat(events[0][0]), ""
    for at, run, event in events:
        moment = datetime.fromisoformat(at)
        if at[:10] != day:
            day = at[:10]
            lines.append(day)
        whose = "" if run == root else f"[{replies[run].get('task') or replies[run]['workflow']} {run[:6]}] "
        first, *rest = _words(run, event, names)
        stamp = f"  {at[11:19]}  {_elapsed((moment - begin).total_seconds()):>8}  "
        lines += [f"{stamp}{whose}{first}", *(f"{'':{len(stamp)}}  {line}" for line in rest)]
    return "\n".join(lines) + "\n"


def _words(run: str, event: Event, names: StepNames) -> Iterator[str]:
    yield _headline(event) + (f", by {event['actor']}" if event.get("actor") else "")
    for key in ("inputs", "scope", "result", "error", "refusal", "reason"):
        if event.get(key):
            yield f"{_LABELS.get(key, key)}: {_short(event[key])}"
    for note in event.get("notes", ()):
        yield f"{note['step_id']} failed: {_short(note['message'])}; {_after(note)}"
    for field, value in event.get("written", {}).items():
        # What was kept as it came stands above already.
        yield f"wrote {field}" + ("" if value == event.get("result") else f" = {_written(value)}")
    entered = names.of(run, event.get("entered", ()))
    if entered:
        yield f"-> {', '.join(entered)}"
    if event.get("broken_off"):
        yield f"broken off under way: {', '.join(event['broken_off'])}"
    if "status" in event:
        yield f"the run is {event['status']}"


def _after(note: dict[str, Any]) -> str:
    """What became of a failure."""
    if "retried" in note:
        return f"attempt {note['retried'] + 1} follows"
    return "the run goes on, and fails at its end" if "deferred" in note else "recovered by on_error"


_LABELS = {"scope": "for", "result": "came"}
_HEADLINES = {
    "started": "started",
    "submitted": "{step_id}: answered",
    "refused": "{step_id}: an answer that does not fit was refused",
    "interrupted": "{step_id}: interrupted, the server that was doing it has ended",
    "clock": "time passed",
    "child_ended": "{step_id}: child {index} ended",
    "cancelled": "cancelled",
    "migrated": "moved to version {version}",
}


def _headline(event: Event) -> str:
    return _HEADLINES.get(event["event"], str(event["event"])).format_map(
        {"step_id": "", "index": "", **event}
    )


def _written(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"bytes"}:
        return f"({value['bytes']:,} bytes; `wfc runs state` has it)"
    return _short(value)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = "".join(char if char.isprintable() else "\\n" if char == "\n" else " " for char in text)
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}... ({len(text):,} characters)"


def _elapsed(seconds: float) -> str:
    if seconds < 60:
        return f"+{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"+{hours}:{minutes:02}:{rest:02}" if hours else f"+{minutes}:{rest:02}"
