"""Differences between versions, as text for a terminal and as markdown for a comment on a pull request."""

from __future__ import annotations

import difflib
import json
from collections import Counter
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
    """A difference in one line, without details."""
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
        return "safe for runs in progress"
    if any(reason.blocks for reason in diff.reasons):
        return "not safe for runs in progress"
    return "not safe for runs in progress: they can be moved, and may fail then"


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
    # The first two lines are a header for file names, which are empty here.
    lines = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]
    return ["..." if line.startswith("@@") else line for line in lines][1 if len(lines) > 1 else 0 :]


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return [printable(line) for line in text.splitlines()]


def as_text(value: Any) -> str:
    if value is None:
        return "none"
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


# Markdown.

_ORDER = ("workflow", "task", "input", "step", "field", "edge")


def render_markdown(found: list[WorkflowDiff]) -> str:
    if not found:
        return "No workflow has changed in meaning.\n"
    return "\n".join("\n".join(_markdown_workflow(one)) + "\n" for one in found)


def _markdown_workflow(diff: WorkflowDiff) -> Iterator[str]:
    yield f"### {_code(diff.name)}"
    yield ""
    yield f"{_code(paths(diff))}: {_counts(diff.changes) or diff.status}."
    yield ""
    mark = ":white_check_mark:" if diff.safe else ":warning:"
    yield f"{mark} **{verdict(diff)[:1].upper()}{verdict(diff)[1:]}.**"
    if diff.reasons:
        yield ""
    for reason in diff.reasons:
        where = f"task {_code(reason.task)}: " if reason.task and reason.steps else ""
        yield f"- {where}{_escaped(reason.message)}" + (
            f" ({counted_runs(reason.runs)})" if reason.runs else ""
        )
    if diff.changes:
        yield ""
        yield "<details><summary>What changed</summary>"
        yield ""
        yield from _changes([change for change in diff.changes if change.what != "edge"])
        edges = [change for change in diff.changes if change.what == "edge"]
        if edges:
            yield "```diff"
            yield from (
                f"{SIGNS[edge.how]} {f'{edge.task}: ' if edge.task else ''}{edge.name}" for edge in edges
            )
            yield "```"
            yield ""
        yield "</details>"


def _counts(changes: list[Change]) -> str:
    counts = Counter((change.what, change.how) for change in changes)
    ordered = sorted(counts.items(), key=lambda one: (_ORDER.index(one[0][0]), one[0][1]))
    return ", ".join(f"{number} {what}{'s' if number != 1 else ''} {how}" for (what, how), number in ordered)


def _changes(changes: list[Change]) -> Iterator[str]:
    for change in changes:
        where = f"task {_code(change.task)}: " if change.task else ""
        yield f"- `{SIGNS[change.how]}` {where}{_escaped(headline(change))}"
        if change.how != "renamed":
            for detail in change.details:
                yield from (f"  {line}".rstrip() for line in _markdown_detail(detail))
    yield ""


def _markdown_detail(detail: Detail) -> Iterator[str]:
    if detail.name in ("reads", "writes"):
        yield f"- {detail.name}: {', '.join(map(_code, list_changes(detail)))}"
        return
    old, new = as_text(detail.old), as_text(detail.new)
    if detail.old is None or detail.new is None or ("\n" not in old + new and len(old) + len(new) <= 120):
        yield f"- {detail.name}: {_code(old)} → {_code(new)}"
        return
    # The value may contain a fence itself.
    fence = _fence(old + new)
    yield f"- {detail.name}:"
    yield f"  {fence}diff"
    yield from (f"  {line}" for line in changed_lines(detail))
    yield f"  {fence}"


def _code(text: str | None) -> str:
    """The text as inline code on one line, delimited by enough backticks."""
    line = " ".join(str(text).split())
    ticks = "`" * (1 + max((len(run) for run in _runs(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _fence(text: str) -> str:
    return "`" * max(3, 1 + max((len(run) for run in _runs(text)), default=0))


def _runs(text: str) -> list[str]:
    """The runs of consecutive backticks in a text."""
    return "".join(char if char == "`" else " " for char in text).split()


def _escaped(text: str) -> str:
    """Escape a name, which may contain markdown markup."""
    return "".join(f"\\{char}" if char in "\\*_<>[]`#|@" else char for char in text)
