"""Differences between versions as text for a terminal."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from wfc.author.diff import Change, Detail, WorkflowDiff
from wfc.render.style import Style, printable

SIGNS = {"added": "+", "removed": "-", "changed": "~", "moved": ">", "renamed": "="}
_COLORS = {"+": "green", "-": "red", "~": "yellow", ">": "blue", "=": "blue"}
_LONG = 60


def render_diff(found: list[WorkflowDiff], style: Style) -> str:
    if not found:
        return "no difference\n"
    return "\n".join("\n".join(_workflow(one, style)) + "\n" for one in found)


def _workflow(diff: WorkflowDiff, style: Style) -> Iterator[str]:
    yield f"{style.paint(diff.name, 'bold')}  {paths(diff)}"
    scope: str | None = None
    for change in diff.changes:
        if change.task != scope:
            yield f"  in task {change.task}"
            scope = change.task
        sign = SIGNS[change.how]
        yield f"  {style.paint(sign, _COLORS[sign])} {headline(change)}"
        yield from (f"      {line}" for detail in change.details for line in _detail(detail, change, style))
    yield style.paint(verdict(diff), "green" if diff.safe else "red", "bold")
    for reason in diff.reasons:
        where = f"task {reason.task}: " if reason.task and reason.steps else ""
        runs = f" ({counted_runs(reason.runs)})" if reason.runs else ""
        yield f"  {where}{reason.message}{runs}"


def paths(diff: WorkflowDiff) -> str:
    if diff.old_path and diff.new_path and diff.old_path != diff.new_path:
        return f"{diff.old_path} -> {diff.new_path}"
    shown = str(diff.new_path or diff.old_path)
    return f"{shown}, {diff.status}" if diff.status in ("added", "removed") else shown


def headline(change: Change) -> str:
    """One line without the details."""
    if change.how == "renamed":
        return f"{change.what} {change.name}, was {change.details[0].old}"
    if change.how == "moved":
        return f"{change.what} {change.name} moved: {change.note} now"
    return f"{change.what} {change.name}" + (f" ({change.note})" if change.note else "")


def verdict(diff: WorkflowDiff) -> str:
    if diff.errors:
        number = f"{diff.errors} error" + ("s" if diff.errors != 1 else "")
        return f"the new version has {number}; see `wfc check {diff.new_path}`"
    if diff.safe:
        return "safe for runs under way"
    if any(reason.blocks for reason in diff.reasons):
        return "not safe for runs under way"
    return "not safe for runs under way: they can be moved, and may fail then"


def counted_runs(runs: tuple[str, ...]) -> str:
    more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
    return f"now: run {runs[0]}{more}"


def _detail(detail: Detail, change: Change, style: Style) -> Iterator[str]:
    if change.how == "renamed":
        return
    if detail.name in ("reads", "writes"):
        yield f"{detail.name}: {', '.join(list_changes(detail))}"
        return
    old, new = as_text(detail.old), as_text(detail.new)
    if (
        detail.old is None
        or detail.new is None
        or (len(old) + len(new) <= 2 * _LONG and "\n" not in old + new)
    ):
        yield f"{detail.name}: {style.paint(old, 'red')} -> {style.paint(new, 'green')}"
        return
    yield f"{detail.name}:"
    for line in changed_lines(detail):
        yield "  " + style.paint(
            line, "green" if line.startswith("+") else "red" if line.startswith("-") else "blue"
        )


def list_changes(detail: Detail) -> list[str]:
    added = [f"+{name}" for name in detail.new if name not in detail.old]
    return added + [f"-{name}" for name in detail.old if name not in detail.new]


def changed_lines(detail: Detail) -> list[str]:
    """The lines of a long value that differ, with one line around them."""
    old, new = (_lines(value) for value in (detail.old, detail.new))
    lines = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]
    return ["..." if line.startswith("@@") else line for line in lines][1 if len(lines) > 1 else 0 :]


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return [printable(line) for line in text.splitlines()]


def as_text(value: Any) -> str:
    if value is None:
        return "none"
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
