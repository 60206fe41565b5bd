"""`wfc diff`."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from wfc.author.diff import Reason, WorkflowDiff, compare
from wfc.check import check_unit
from wfc.cli.diff.versions import Versions, find_versions
from wfc.cli.shared.names import REVISIONS
from wfc.cli.shared.output import say, to_json, write_out
from wfc.cli.shared.workflow import compile_in_memory
from wfc.findings import Severity
from wfc.project import SourceFile
from wfc.workspace.files import stored_runs


@click.command("diff")
@click.argument(
    "versions", nargs=-1, required=True, metavar="OLD [NEW] [-- PATHS]...", shell_complete=REVISIONS
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown", "json")),
    default="text",
    show_default=True,
    help="markdown is made for a comment on a pull request.",
)
@click.option("--json", "form", flag_value="json", help="Short for --format json.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there is any difference, safe or not.")
def command(versions: tuple[str, ...], form: str, exit_code: bool) -> int:
    """Show what changed in meaning between two versions, and whether runs in progress can continue.

    \b
    wfc diff old.yaml new.yaml           two files
    wfc diff main                        a revision of git and the work tree
    wfc diff v1 v2 -- workflows/a.yaml   two revisions, some files or folders only
    wfc diff HEAD:workflows/a.yaml b.yaml

    Steps added, removed, renamed, moved and changed are shown, and so are inputs, tasks, edges, types of fields, and
    what is read and written. Formatting, comments and the order of keys are no difference. A run goes on with the
    version it was started with; safe means that every run, wherever it waits, could be moved to the new one with
    `wfc runs migrate` and would find there what it needs. Exits with 1 if that is not so.
    """
    found = _differences(find_versions(versions))
    safe = all(one.safe for one in found)
    print_differences(found, form)
    return 1 if not safe or (exit_code and found) else 0


def print_differences(found: list[WorkflowDiff], form: str) -> None:
    if form == "json":
        data = {"workflows": [one.to_data() for one in found], "safe": all(one.safe for one in found)}
        say(to_json(data))
    elif form == "markdown":
        from wfc.render.diff import render_markdown

        write_out(render_markdown(found))
    else:
        from wfc.render.diff import render_diff
        from wfc.render.style import style_for

        write_out(render_diff(found, style_for(sys.stdout)))


def _differences(versions: Versions) -> list[WorkflowDiff]:
    found: list[WorkflowDiff] = []
    for old, new in versions.pairs:
        before = versions.old.unit(old) if old is not None else None
        after = versions.new.unit(new) if new is not None else None
        diff = _difference(before, after)
        if diff.status != "same" or diff.errors:
            found.append(_with_runs(diff, versions))
    return found


def _difference(old: SourceFile | None, new: SourceFile | None) -> WorkflowDiff:
    if new is None:
        assert old is not None
        reason = Reason(
            "workflow_removed", "the workflow is gone: its runs find no current version to move to"
        )
        return WorkflowDiff(old.name or "?", old.source.path, None, reasons=[reason])
    diff = WorkflowDiff(
        new.name or "?", old.source.path if old else None, new.source.path, errors=_errors(new)
    )
    if old is None:
        return diff
    diff = replace(diff, changes=compare(old, new))
    if diff.errors or not diff.changes or _errors(old):
        # With a version that did not compile no run can have been started.
        return diff
    from wfc.author.diff.verdict import reasons

    [was], [now] = compile_in_memory([old]).values(), compile_in_memory([new]).values()
    return replace(diff, reasons=reasons(old, new, was.workflow, now.workflow))


def _errors(unit: SourceFile) -> int:
    return sum(found.severity is Severity.ERROR for found in check_unit(unit))


def _with_runs(diff: WorkflowDiff, versions: Versions) -> WorkflowDiff:
    """The verdict, with the runs that it would hit now."""
    if not diff.reasons:
        return diff
    names = {diff.name, versions.old.unit(diff.old_path).name if diff.old_path else None}
    waiting = [run for run in stored_runs(versions.new.config) if run.workflow in names and not run.is_brief]
    told = [
        replace(
            reason,
            runs=tuple(
                run.run
                for run in waiting
                if ((reason.task is None and not reason.steps) or run.task == reason.task)
                and (not reason.steps or set(reason.steps) & set(run.steps))
            ),
        )
        for reason in diff.reasons
    ]
    return replace(diff, reasons=told)
