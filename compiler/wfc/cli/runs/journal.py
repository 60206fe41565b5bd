"""`wfc runs journal`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from wfc.cli.runs.store import RUNS, any_service_of, whole_id
from wfc.cli.shared.output import data, to_json
from wfc.render.style import printable

Line = dict[str, Any]
_KINDS = {"decisions": "decision", "milestones": "milestone", "issues": "issue", "blockers": "BLOCKER"}


@click.command("journal")
@click.argument("run", shell_complete=RUNS)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown", "json")),
    default="text",
    show_default=True,
    help="The form of the output.",
)
@click.pass_obj
def journal(state: Path | None, run: str, form: str) -> None:
    """Show the journal of a run: phases, tasks, decisions, milestones and issues, with who logged them."""
    from wfc_runtime.service.journal_pages import whole_journal

    with any_service_of(state) as service:
        run = whole_id(service, run)
        found = {"workflow": service.history(run, limit=1)["workflow"], **whole_journal(service.journal(run))}
    if form == "json":
        click.echo(to_json(found))
    elif form == "markdown":
        click.echo(data("\n".join(_markdown(found))))
    else:
        click.echo("\n".join(map(printable, _text(found))))


def _entries(found: Line) -> list[tuple[str, Line]]:
    """The entries of every kind, in the order of the events."""
    lines = [(kind, line) for section, kind in _KINDS.items() for line in found[section]]
    return sorted(lines, key=lambda one: (one[1]["at"], _number(one[1]["entry"])))


def _number(id: str) -> tuple[int, ...]:
    return tuple(int(part) for part in id.rpartition(":")[2].split("."))


# Text: one line per entry, and what follows from it below.


def _text(found: Line) -> Iterator[str]:
    yield f"{found['workflow']}, run {found['workflow_id']}: {found['status']}"
    for title, lines in (
        ("phases", [_phase(one) for one in found["phase_summary"]]),
        ("tasks", [_task(one) for one in found["tasks"]]),
    ):
        if lines:
            yield title
            yield from (f"  {line}" for line in lines)
    entries = _entries(found)
    if entries:
        yield "entries"
    for kind, line in entries:
        who = line.get("agent") or line["by"]
        yield f"  {line['at'][:19]}Z  {kind:<9}  {_short_task(line)} ({who})  {_headline(kind, line)}"
        yield from (f"      {name}: {_one_line(value)}" for name, value in _details(line))
    for line in found["summaries"]:
        yield f"summary ({line['status']}): {_one_line(line.get('summary', ''))}"
        for name in ("achievements", "limitations"):
            yield from (f"  {name}: {_one_line(one)}" for one in line.get(name, ()))
    if not (entries or found["tasks"] or found["phase_summary"] or found["summaries"]):
        yield "nothing has been logged"


def _phase(one: Line) -> str:
    more = f": {_one_line(one['summary'])}" if "summary" in one else ""
    tasks, changes = _count(one["tasks"], "task"), "".join(f", {words}" for words in _changes(one))
    return f"{one['number']}. {_one_line(one['name'])}  {one['status']}, {tasks}{changes}{more}"


def _changes(one: Line) -> Iterator[str]:
    """The result of the git comparison for a phase."""
    if "files_changed" in one:
        how = "proved by git" if one["proof"] == "server" else "claimed"
        yield f"{_count(one['files_changed'], 'file')} changed ({how})"
    if one.get("outside_scope"):
        outside = ", ".join(map(_one_line, one["outside_scope"]))
        yield f"{one['outside_total']} outside the scopes: {outside}"


def _task(one: Line) -> str:
    took = f", {one['seconds']:g} s" if "seconds" in one else ""
    proved = " proved by git" if one.get("proof") == "server" else ""
    files = f", {_count(len(one['files']), 'file')}{proved}" if "files" in one else ""
    outside = (
        f", {_count(len(one['outside_scope']), 'file')} outside its areas" if "outside_scope" in one else ""
    )
    result = f": {_one_line(one['outcome'])}" if "outcome" in one else ""
    name, short = _one_line(one["name"]), _short_task(one)
    title = short if short == name else f"{short} {name}"
    return f"{title} ({one.get('agent') or one['by']})  {one['status']}{took}{files}{outside}{result}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _short_task(line: Line) -> str:
    return str(line["task"]).partition("/")[2] or "run"


def _headline(kind: str, line: Line) -> str:
    if kind == "decision":
        return f"{_one_line(line['question'])} -> {_one_line(line['chosen'])}"
    if kind == "milestone":
        progress = f" ({line['progress']} %)" if "progress" in line else ""
        return f"{_one_line(line['message'])}{progress}"
    return _one_line(line["description"])


def _details(line: Line) -> Iterator[tuple[str, str]]:
    for name in ("reasoning", "trade_offs", "type", "category", "resolution"):
        if line.get(name):
            yield name.replace("_", " "), str(line[name])
    if line.get("options_considered"):
        yield "options considered", "; ".join(map(str, line["options_considered"]))


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


# Markdown, for a pull request or a page.


def _markdown(found: Line) -> Iterator[str]:
    yield f"# {_plain(found['workflow'])}: journal of run `{found['workflow_id']}`"
    yield f"\nStatus: {found['status']}"
    for line in found["summaries"]:
        yield f"\n{_plain(line.get('summary', ''))}"
        for name in ("achievements", "limitations"):
            if line.get(name):
                yield f"\n**{name.capitalize()}**\n"
                yield from (f"- {_plain(one)}" for one in line[name])
    if found["phase_summary"]:
        yield "\n## Phases\n\n| number | phase | status | tasks | changes |\n|---|---|---|---|---|"
        for one in found["phase_summary"]:
            changes = _cell(", ".join(_changes(one)))
            yield f"| {one['number']} | {_cell(one['name'])} | {one['status']} | {one['tasks']} | {changes} |"
    if found["tasks"]:
        yield "\n## Tasks\n\n| task | agent | status | seconds | outcome |\n|---|---|---|---|---|"
        for one in found["tasks"]:
            cells = (
                *(one["name"], one.get("agent") or one["by"], one["status"]),
                *(one.get("seconds", ""), one.get("outcome", "")),
            )
            yield f"| {' | '.join(map(_cell, cells))} |"
    for title, section in (
        ("Open blockers", "blockers"),
        ("Decisions", "decisions"),
        ("Milestones", "milestones"),
        ("Issues", "issues"),
    ):
        if found[section]:
            yield f"\n## {title}\n"
        for line in found[section]:
            who = line.get("agent") or line["by"]
            yield f"- **{_plain(_headline(_KINDS[section], line))}** ({_plain(who)}, {line['at'][:19]}Z)"
            yield from (f"  - {name}: {_plain(value)}" for name, value in _details(line))


def _plain(value: object) -> str:
    """Text of an agent as one line that Markdown shows as it is: it can start no heading, list, link or HTML."""
    text = _one_line(value)
    # The backslash comes first, so that the backslashes added for the others are not doubled.
    for char in "\\`*_[]<>#|":
        text = text.replace(char, f"\\{char}")
    return text


def _cell(value: object) -> str:
    return _plain(value) or " "
