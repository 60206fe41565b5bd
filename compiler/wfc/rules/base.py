"""A rule: a code, a name, a severity, a page of documentation and a check."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from wfc.findings import Diagnostic, Fix, Note, Severity, tidy
from wfc.project import SourceFile
from wfc.struct import replace, struct
from wfc.yaml import Span


@struct(frozen=True, slots=True)
class Finding:
    """A result of a check; the rule adds its code, name and severity."""

    span: Span
    message: str
    help: str = ""
    notes: tuple[Note, ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None
    """Set if it differs from the severity of the rule."""
    step: str | None = None
    flow: tuple[Note, ...] = ()
    """The path of a value to the span, source first."""
    secret: Span | None = None
    """Characters that must be redacted in all output."""
    quotes: str | None = None
    """Of an untrusted value in a command: the quotes around it, or "" if there are none."""


Check = Callable[[SourceFile], Iterator[Finding]]


@struct(frozen=True)
class Rule:
    code: str
    name: str
    severity: Severity
    fix: str
    """"safe", "unsafe", or "" if there is no fix."""
    doc: str
    check: Check

    @property
    def summary(self) -> str:
        return self.doc.strip().split("\n", 1)[0]

    @property
    def is_of_form(self) -> bool:
        """Whether it checks the file as written. All other rules check the core AST."""
        return self.code.startswith("WF0")

    def to_data(self) -> dict[str, Any]:
        """The check's page as plain data."""
        return {
            "kind": "check",
            "code": self.code,
            "name": self.name,
            "severity": str(self.severity),
            "fix": self.fix or None,
            "summary": self.summary,
            "doc": self.doc.strip(),
        }

    def run(self, file: SourceFile) -> list[Diagnostic]:
        language = file.language
        if language.severity(self.code, self.severity) is None:
            return []
        found = list(self.check(file))
        # Nearly every rule finds nothing in nearly every file.
        if not found and not file.reports:
            return []
        return [
            Diagnostic(
                code=self.code,
                name=self.name,
                severity=severity,
                message=tidy(one.message),
                span=one.span,
                notes=_tidied(one.notes),
                help=tidy(one.help),
                fix=one.fix,
                step=one.step,
                flow=_tidied(one.flow),
                secret=one.secret,
            )
            for one in self._with_reports(file, found)
            if (severity := language.severity(self.code, one.severity or self.severity)) is not None
        ]

    def _with_reports(self, file: SourceFile, findings: list[Finding]) -> Iterator[Finding]:
        """The findings of the check and those of the dialect. If both report the same span, the dialect's is used."""
        reports = [one for one in file.reports if one.code == self.code]
        reported = {(one.span.start, one.span.end) for one in reports}
        for found in findings:
            if (found.span.start, found.span.end) not in reported:
                # A fix for the core AST edits the text of a template, which a translated file does not have.
                is_other = file.is_translated and not self.is_of_form
                fix = file.language.fix_in_command(found) if is_other else found.fix
                yield replace(found, help=file.language.advice(self.code, found.help), fix=fix)
        for one in reports:
            yield Finding(one.span, one.message, one.help, one.notes, one.fix, one.severity, one.step)


def _tidied(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    return tuple(Note(tidy(note.message), note.span) for note in notes)


def rule(code: str, name: str, severity: Severity = Severity.ERROR, fix: str = "") -> Callable[[Check], Rule]:
    """Make a module's check its rule. The module's docstring is the page that `wfc explain` prints."""

    def make(check: Check) -> Rule:
        return Rule(code, name, severity, fix, sys.modules[check.__module__].__doc__ or "", check)

    return make
