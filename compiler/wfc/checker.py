"""Every rule over every file, with suppressions taken into account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wfc.findings import Diagnostic, Note, Severity
from wfc.project import Project, SourceFile
from wfc.rules import RULES
from wfc.rules.base import Rule
from wfc.struct import replace
from wfc.suppress import can_be_hidden
from wfc.worker_pool import run_in_workers

_FIRM = Note(
    "`ignore` in [tool.wfc] names this check, but no machine can be made of a workflow with such an error"
)
_ON_FORM = tuple(rule for rule in RULES if rule.code.startswith("WF0"))


def check_project(project: Project) -> list[Diagnostic]:
    """All findings, sorted by place. None of the rules stops another."""
    return in_order(run_in_workers(check_file, project.files, project.processes, project.progress))


def in_order(findings: Iterable[list[Diagnostic]]) -> list[Diagnostic]:
    return sorted((found for some in findings for found in some), key=lambda found: found.sort_key)


def check_file(file: SourceFile) -> list[Diagnostic]:
    """The findings of one file. WF704, which says what hid nothing, comes last in the list of rules."""
    return list(each_finding(file))


def each_finding(file: SourceFile, rules: Sequence[Rule] = RULES) -> Iterator[Diagnostic]:
    """The same, as the rules come to them: whoever has seen enough may stop."""
    found: set[object] = set()
    # One that is far too large, which WF010 says, would only keep the others busy.
    for rule in _ON_FORM if file.is_hopeless else rules:
        for diagnostic in rule.run(file):
            wanted = _wanted(diagnostic, file)
            # What an alias or a merge brings to many places is wrong once.
            if wanted and wanted.sort_key not in found:
                found.add(wanted.sort_key)
                yield wanted


def _wanted(found: Diagnostic, file: SourceFile) -> Diagnostic | None:
    is_ignored = found.code in file.config.ignore
    if can_be_hidden(found.code, found.severity):
        return None if is_ignored or file.suppressions.cover(found) else found
    return replace(found, notes=(*found.notes, _FIRM)) if is_ignored else found


def has_errors(found: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in found)
