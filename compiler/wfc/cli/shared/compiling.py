"""What `wfc compile` does once it is clear that something has to be done."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from wfc.check import has_errors
from wfc.cli.shared.files import load_project
from wfc.cli.shared.memory import Answer
from wfc.cli.shared.modules import apply_drift, find_drift, recorded_path
from wfc.cli.shared.output import counted, rendered
from wfc.cli.shared.progress import progress
from wfc.cli.shared.selection import Selection
from wfc.compile import Compilation, compile_project
from wfc.findings import Diagnostic, Severity
from wfc.project import Drift, DriftKind, Project, SourceFile
from wfc.rules import BY_CODE
from wfc.yaml import Document, Source
from wfc_runtime.header import read_header


@dataclass(frozen=True)
class Task:
    """What the command line asks for."""

    selection: Selection
    folder: Path
    check_only: bool = False
    show_diff: bool = False
    form: str = "text"
    quiet: bool = False
    with_progress: bool = False


def compile_selection(task: Task) -> Answer:
    """Compile, and write or compare."""
    project, units = load_project(task.selection)
    recorded = {unit: recorded_path(path, task.selection.config.root) for path, unit in units.items()}
    with progress("compiling", task.with_progress) as project.progress:
        compilation = compile_project(project, recorded)
    drift = find_drift(compilation, task.folder, task.selection, set(recorded.values()))
    dry = task.check_only or task.show_diff
    findings = compilation.findings + _drift_findings(project, drift, task.check_only)
    text = rendered(findings, task.form)
    if dry and task.form == "text":
        text += _diff(drift)
    if not dry:
        apply_drift(drift, task.folder)
    if task.form == "text" and not task.quiet:
        text += _summary(compilation, drift, task.folder, dry=dry) + "\n"
    return Answer(text, 1 if has_errors(findings) else 0)


def _drift_findings(project: Project, drift: list[Drift], check_only: bool) -> list[Diagnostic]:
    """With --check every difference is a finding; without it only a file in the way is."""
    gone = SourceFile(Source("", ""), Document(None, []), project.config, None, project)
    if not check_only:
        for unit in project.units:
            unit.drift = [item for item in unit.drift if item.condition is DriftKind.FOREIGN]
    else:
        gone.drift = [item for item in drift if item.condition is DriftKind.ORPHANED]
    rules = (BY_CODE["WF701"], BY_CODE["WF702"])
    return [found for unit in (*project.units, gone) for rule in rules for found in rule.run(unit)]


def _diff(drift: list[Drift]) -> str:
    lines: list[str] = []
    for item in drift:
        before, after = (item.before or "").splitlines(True), (item.after or "").splitlines(True)
        lines += difflib.unified_diff(before, after, item.path, item.path)
    return "".join(lines)


def _summary(compilation: Compilation, drift: list[Drift], folder: Path, *, dry: bool) -> str:
    changed = [item for item in drift if item.after is not None and item.condition is not DriftKind.FOREIGN]
    removed = [item for item in drift if item.after is None]
    same = len(compilation.modules) - sum(item.after is not None for item in drift)
    verbs = ("would write", "would remove") if dry else ("wrote", "removed")
    parts = [f"{verbs[0]} {len(changed)}"] if changed else []
    parts += [f"{verbs[1]} {len(removed)}"] if removed else []
    parts += [f"{same} unchanged"] if same else []
    broken = {found.path for found in compilation.findings if found.severity is Severity.ERROR}
    parts += [f"{counted(len(broken), 'workflow')} with errors"] if broken else []
    edited = [item.path for item in drift if _was_edited(item) and not dry]
    note = f"\nnote: {', '.join(edited)} had been edited by hand; the edit is gone" if edited else ""
    return f"{folder}: {', '.join(parts) or 'nothing to do'}{note}"


def _was_edited(item: Drift) -> bool:
    header = read_header(item.before) if item.before and item.condition is not DriftKind.FOREIGN else None
    return header is not None and header.edited
