"""Differences between versions as markdown, for a comment on a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wfc.author.diff import Change, Detail, WorkflowDiff
from wfc.render.diff_text import (
    SIGNS,
    as_text,
    changed_lines,
    counted_runs,
    headline,
    list_changes,
    paths,
    verdict,
)

_ORDER = ("workflow", "task", "input", "step", "field", "edge")


def render_markdown(found: list[WorkflowDiff]) -> str:
    if not found:
        return "No workflow has changed in meaning.\n"
    return "\n".join("\n".join(_workflow(one)) + "\n" for one in found)


def _workflow(diff: WorkflowDiff) -> Iterator[str]:
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
                yield from (f"  {line}".rstrip() for line in _detail(detail))
    yield ""


def _detail(detail: Detail) -> Iterator[str]:
    if detail.name in ("reads", "writes"):
        yield f"- {detail.name}: {', '.join(map(_code, list_changes(detail)))}"
        return
    old, new = as_text(detail.old), as_text(detail.new)
    if detail.old is None or detail.new is None or ("\n" not in old + new and len(old) + len(new) <= 120):
        yield f"- {detail.name}: {_code(old)} → {_code(new)}"
        return
    fence = _fence(old + new)
    yield f"- {detail.name}:"
    yield f"  {fence}diff"
    yield from (f"  {line}" for line in changed_lines(detail))
    yield f"  {fence}"


def _code(text: str | None) -> str:
    """As code, whatever backticks it holds, on one line."""
    line = " ".join(str(text).split())
    ticks = "`" * (1 + max((len(run) for run in _runs(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _fence(text: str) -> str:
    return "`" * max(3, 1 + max((len(run) for run in _runs(text)), default=0))


def _runs(text: str) -> list[str]:
    """The stretches of backticks in a text."""
    return "".join(char if char == "`" else " " for char in text).split()


def _escaped(text: str) -> str:
    """Names may hold what markdown takes for markup."""
    return "".join(f"\\{char}" if char in "\\*_<>[]`#|@" else char for char in text)
