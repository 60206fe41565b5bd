"""Runs every rule on every file and applies suppressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wfc.config import ReadError
from wfc.findings import Diagnostic, Note, Severity, tidy, what_and_where
from wfc.project import Project, SourceFile
from wfc.rules import RULES
from wfc.rules.base import Rule
from wfc.struct import replace
from wfc.suppress import can_be_hidden
from wfc.worker_pool import run_in_workers

_FIRM = Note("`ignore` in [tool.wfc] lists this check, but a workflow with such an error can't be compiled")
_ON_FORM = tuple(rule for rule in RULES if rule.code.startswith("WF0"))


def check_project(project: Project) -> list[Diagnostic]:
    """All findings, sorted by position."""
    return in_order(run_in_workers(check_file, project.files, project.processes, project.progress))


def in_order(findings: Iterable[list[Diagnostic]]) -> list[Diagnostic]:
    return sorted((found for some in findings for found in some), key=lambda found: found.sort_key)


def check_file(file: SourceFile) -> list[Diagnostic]:
    """The findings of one file. WF704 runs last, since it reports suppressions that no other rule has used."""
    return list(each_finding(file))


def each_finding(file: SourceFile, rules: Sequence[Rule] = RULES) -> Iterator[Diagnostic]:
    """Yield the findings one by one, so that a caller can stop early. If a rule raises, the others still run."""
    found: set[object] = set()
    if file.is_hopeless:
        # The file is far too large (WF010): the other rules would take too long.
        rules = _ON_FORM
    elif file.lacks_extra:
        # Nothing is known of its expressions, so that other rules would report consequences of that.
        rules = [rule for rule in rules if rule.code == "WF201"]
    for rule in rules:
        for diagnostic in _run(rule, file):
            wanted = _wanted(diagnostic, file)
            # A mistake that an alias or a merge repeats in several places is reported once.
            # The sort key has everything that identifies a finding for a reader.
            if wanted and wanted.sort_key not in found:
                found.add(wanted.sort_key)
                yield wanted


def _run(rule: Rule, file: SourceFile) -> Iterable[Diagnostic]:
    try:
        return rule.run(file)
    except ReadError:
        raise  # Rules read called workflows; a file that can't be read is not a failure of the rule.
    except Exception as error:
        # One broken rule must not hide the findings of all others.
        message = f"internal error: this check failed ({what_and_where(error)}); please report it"
        crash = Diagnostic(
            rule.code, rule.name, Severity.ERROR, tidy(message), file.source.start, is_crash=True
        )
        return [crash]


def _wanted(found: Diagnostic, file: SourceFile) -> Diagnostic | None:
    if found.is_crash:
        return found
    if found.fix and all(found.span.source is not one.source for one in (file, *file.project.files)):
        # In an imported part, which is not a file of the project here, so no fix is applied to it.
        found = replace(found, fix=None)
    is_ignored = found.code in file.config.ignore
    # An error that prevents compiling is reported even if it is ignored, with a note that says so.
    if can_be_hidden(found.code, found.severity):
        return None if is_ignored or file.suppressions.cover(found) else found
    return replace(found, notes=(*found.notes, _FIRM)) if is_ignored else found


def exit_status(found: Iterable[Diagnostic], *severities: Severity) -> int:
    """The exit code of a command that reports findings: 1 for one of these severities, 3 if a check failed."""
    status = 0
    for one in found:
        if one.is_crash:
            return 3
        if one.severity in severities:
            status = 1
    return status


def has_errors(found: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in found)
