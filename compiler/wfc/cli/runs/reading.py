"""`wfc runs list`, `show`, `history` and `state`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from wfc.cli.run.operator import StepNames, not_a_failure
from wfc.cli.runs.store import RUNS, any_service_of, json_option, nothing_started, print_reply, whole_id
from wfc.cli.shared.output import data, to_json
from wfc_runtime.service import actions_of

_SHOWN = 160


@click.command("list")
@click.option(
    "--status", help="open (default), pending_action, running, completed, failed, cancelled or all."
)
@click.option(
    "--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="Maximum number of runs."
)
@click.option("--before", metavar="RUN", shell_complete=RUNS, help="Continue the list after this run.")
@json_option
@click.pass_obj
def list_(state: Path | None, status: str | None, limit: int, before: str | None, as_json: bool) -> None:
    """Show runs, the newest first."""
    if nothing_started(state):
        print_reply({"runs": []}, as_json, _listed)
        return
    with any_service_of(state) as service:
        reply = service.runs(status, limit=limit, before=before and whole_id(service, before))
    none = "no runs" if status else "no runs in progress; `--status all` also shows runs that have ended"
    print_reply(reply, as_json, lambda found: _listed(found) if found["runs"] else none)


def _listed(reply: dict[str, Any]) -> str:
    rows = [
        f"{run['workflow_id']}  {run['status']:<14}  {run['workflow']}"
        + (f"  waits in {', '.join(run['pending'])}" if run.get("pending") else "")
        + f"  started {run['started']}, last moved {run['updated']}"
        for run in reply["runs"]
    ]
    more = [f"more with --before {reply['runs'][-1]['workflow_id']}"] if "next" in reply else []
    return "\n".join(rows + more) or "no runs"


@click.command()
@click.argument("run", shell_complete=RUNS)
@json_option
@click.pass_obj
def show(state: Path | None, run: str, as_json: bool) -> None:
    """Show a run: its status, and the actions that it waits for or its result."""
    from wfc.cli.run.costs import costs_of, render_costs, total_of

    with any_service_of(state) as service:
        reply = service.status(whole_id(service, run), masked=True)
        costs = costs_of(service, reply["workflow_id"])
    if costs:
        # `next` stays the last key: it says what to do after everything else has been read.
        following = reply.pop("next")
        reply |= {"cost": {**total_of(costs), "steps": [asdict(one) for one in costs]}, "next": following}
    print_reply(reply, as_json, lambda found: _shown(found, render_costs(costs)))


def _shown(reply: dict[str, Any], costs: Sequence[str]) -> str:
    lines = [f"{reply.get('task') or reply['workflow']} {reply['workflow_id']}: {reply['status']}"]
    progress = reply["progress"]
    lines.append(f"started {progress['started']}, last moved {progress['updated']}")
    for action in actions_of(reply):
        lines.append(f"waits in {action['step_id']} ({action['type']})")
        for child in action["parameters"].get("children", ()):
            lines.append(
                f"  for run {child['workflow_id']}"
                + (f": {_short(child['item'])}" if "item" in child else "")
            )
        for key in ("command", "message", "instructions", "tool", "resume_at"):
            if key in action["parameters"]:
                lines.append(f"  {key}: {_short(action['parameters'][key])}")
    lines += costs
    for key in ("result", "error", "reason"):
        if key in reply:
            lines.append(f"{key}: {to_json(reply[key])}")
    return "\n".join([*lines, f"next: {reply['next']}"])


@click.command()
@click.argument("run", shell_complete=RUNS)
@click.option("--children", is_flag=True, help="Also show the events of child runs.")
@json_option
@click.pass_obj
def history(state: Path | None, run: str, children: bool, as_json: bool) -> None:
    """Show the events of a run: time, actor, step, result and the fields written."""
    from wfc.cli.run.operator import StepNames
    from wfc.cli.shared.service import events_of, family_of

    with any_service_of(state) as service:
        run = whole_id(service, run)
        family = list(family_of(service, run)) if children else [(run, list(events_of(service, run)))]
        if as_json:
            # Only for the fields around the events, which have been read page by page.
            reply = service.history(run, limit=1)
            reply.pop("next", None)
            events = [
                {**event, **({"run": one} if one != run else {})} for one, found in family for event in found
            ]
            events.sort(key=lambda event: event["at"])
            click.echo(to_json({**reply, "events": events}))
        else:
            replies = {one: service.status(one, masked=True) for one, _ in family}
            click.echo(render_timeline(family, replies, StepNames(service)), nl=False)


@click.command("state")
@click.argument("run", shell_complete=RUNS)
@click.argument("fields", nargs=-1)
@json_option
@click.pass_obj
def state(state: Path | None, run: str, fields: tuple[str, ...], as_json: bool) -> None:
    """Show the state of a run: all fields abbreviated, or the named FIELDS in full."""
    with any_service_of(state) as service:
        run = whole_id(service, run)
        names = list(fields) or list(service.state(run)["fields"])
        reply = service.state(run, names) if names else {**service.state(run), "state": {}}
    reply.pop("fields", None)
    reply.pop("next", None)
    values = list(reply["state"].values())
    # A single text is printed without quotes, so that it can be redirected to a file.
    if len(fields) == 1 and isinstance(values[0], str) and not as_json:
        click.echo(data(values[0]))
        return
    print_reply(reply, as_json, lambda found: _fields(found["state"], whole=bool(fields)))


def _fields(found: dict[str, Any], whole: bool) -> str:
    if not found:
        return "nothing has been written yet"
    if whole and len(found) == 1:
        return to_json(*found.values())
    width = max(map(len, found))
    return "\n".join(
        f"{name:<{width}}  {_whole(value) if whole else _short(value)}" for name, value in found.items()
    )


def _whole(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else _whole(value)
    line = text.replace("\n", "\\n")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}... ({len(text):,} characters)"


Event = dict[str, Any]
_WIDTH = 110


def render_timeline(
    family: Sequence[tuple[str, list[Event]]], replies: Mapping[str, dict[str, Any]], names: StepNames
) -> str:
    """The events of a run by time, with those of its children indented if they are requested."""
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
    if event["event"] == "journal":
        yield f"journal: {_logged(event['journal'])}" + (
            f", by {event['actor']}" if event.get("actor") else ""
        )
        return
    yield _headline(event) + (f", by {event['actor']}" if event.get("actor") else "")
    for key in ("inputs", "scope", "result", "error", "refusal", "reason"):
        if event.get(key):
            yield f"{_LABELS.get(key, key)}: {_cut(event[key])}"
    for note in event.get("notes", ()):
        failed = (
            ""
            if not_a_failure(note)
            else f"{note['step_id']} failed: {_cut(note['message'])}; {_after(note)}"
        )
        yield failed or not_a_failure(note)
    for message in event.get("messages", ()):
        yield f"said: {_cut(message['message'])}"
    for field, value in event.get("written", {}).items():
        # A result that was stored unchanged has been printed above.
        yield f"wrote {field}" + ("" if value == event.get("result") else f" = {_written(value)}")
    entered = names.of(run, event.get("entered", ()))
    if entered:
        yield f"-> {', '.join(entered)}"
    if event.get("broken_off"):
        yield f"stopped: {', '.join(event['broken_off'])}"
    if "status" in event:
        yield f"the run is {event['status']}"


def _logged(entry: dict[str, Any]) -> str:
    """An entry of the journal in one line; `wfc runs journal` has the rest."""
    texts = (
        entry.get(name)
        for name in ("question", "message", "description", "issue", "title", "name", "summary")
    )
    about = next((str(text) for text in texts if text), "")
    more = next((str(entry[name]) for name in ("chosen", "resolution", "status") if entry.get(name)), "")
    task = f" of {entry['task']}" if entry.get("task") else ""
    return _cut(f"{entry['entry'].replace('_', ' ')}{task}: {about}" + (f" -> {more}" if more else ""))


def _after(note: dict[str, Any]) -> str:
    """How the run continued after a failure."""
    if "retried" in note:
        return f"attempt {note['retried'] + 1} follows"
    return "the run continues, and fails at its end" if "deferred" in note else "recovered by on_error"


_LABELS = {"scope": "for", "result": "came"}
_HEADLINES = {
    "started": "started",
    "submitted": "{step_id}: answered",
    "refused": "{step_id}: an invalid answer was refused",
    "interrupted": "{step_id}: interrupted: the server that executed it has ended",
    "clock": "time passed",
    "child_ended": "{step_id}: child {index} ended",
    "child_retried": "{step_id}: child {index} was retried",
    "retried": "{step_id}: retried",
    "cancelled": "cancelled",
    "migrated": "moved to version {version}",
}


def _headline(event: Event) -> str:
    if event["event"] == "retried" and "step_id" not in event:
        return "continued, since its parent was retried"
    return _HEADLINES.get(event["event"], str(event["event"])).format_map(
        {"step_id": "", "index": "", **event}
    )


def _written(value: Any) -> str:
    # The history stores only the size of a long value.
    if isinstance(value, dict) and set(value) == {"bytes"}:
        return f"({value['bytes']:,} bytes; `wfc runs state` has it)"
    return _cut(value)


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = "".join(char if char.isprintable() else "\\n" if char == "\n" else " " for char in text)
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}... ({len(text):,} characters)"


def _elapsed(seconds: float) -> str:
    if seconds < 60:
        return f"+{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"+{hours}:{minutes:02}:{rest:02}" if hours else f"+{minutes}:{rest:02}"
