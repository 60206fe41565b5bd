"""What `wfc check` does once it is clear that something has to be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wfc.check import check_project
from wfc.cli.shared.output import progress, rendered
from wfc.findings import Diagnostic, Severity
from wfc.render.style import counted
from wfc.workspace.cache import Answer
from wfc.workspace.files import Selection
from wfc.workspace.loading import load_project


def check_selection(
    selection: Selection,
    form: str,
    show_types: bool,
    quiet: bool,
    *,
    texts: Mapping[Path, bytes] | None = None,
    with_progress: bool = False,
) -> Answer:
    """Every finding of the selected files, or of the texts given for them, as text for standard output."""
    project, units = load_project(selection, texts, with_runs=True)
    with progress("checking", with_progress) as project.progress:
        found = check_project(project)
    text = rendered(found, form)
    if show_types:
        from wfc.cli.check.types_view import render_types

        text += "".join(f"{render_types(unit)}\n" for unit in units.values())
    if form == "text" and not quiet:
        text += f"{_summary(found, len(units))}\n"
    return Answer(text, 1 if any(one.severity is not Severity.INFO for one in found) else 0)


def _summary(found: list[Diagnostic], files: int) -> str:
    counts = [
        counted(number, str(severity) if severity is not Severity.INFO else "note")
        for severity in Severity
        if (number := sum(diagnostic.severity is severity for diagnostic in found))
    ]
    return f"checked {counted(files, 'workflow')}: {', '.join(counts) or 'all clean'}"
