"""What a rule is: a code, a name, a severity, a page of documentation and a check."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from wfc.diagnostics import Diagnostic, Fix, Note, Severity, tidy
from wfc.source import Span
from wfc.unit import Unit


@dataclass(frozen=True)
class Finding:
    """What a check found; the rule adds its code, name and severity."""

    span: Span
    message: str
    help: str = ""
    notes: tuple[Note, ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None
    """Where it differs from the rule's own."""
    step: str | None = None
    flow: tuple[Note, ...] = ()
    """The way that a value took to the span, source first."""
    secret: Span | None = None
    """Characters that no output may repeat."""


Check = Callable[[Unit], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    code: str
    name: str
    severity: Severity
    fix: str
    """"safe", "unsafe", or "" where there is none."""
    doc: str
    check: Check

    @property
    def summary(self) -> str:
        return self.doc.strip().split("\n", 1)[0]

    def run(self, unit: Unit) -> Iterator[Diagnostic]:
        workflow = unit.workflow
        mild = workflow is not None and self.code in workflow.mild
        # A fix changes the text of a template, and here that is not the text of the file.
        fixable = workflow is None or workflow.surface is None or self.code.startswith("WF0")
        for found in self._all(unit):
            yield Diagnostic(
                code=self.code,
                name=self.name,
                severity=Severity.WARNING if mild else found.severity or self.severity,
                message=tidy(found.message),
                span=found.span,
                notes=_tidied(found.notes),
                help=tidy(found.help),
                fix=found.fix if fixable else None,
                step=found.step,
                flow=_tidied(found.flow),
                secret=found.secret,
            )

    def _all(self, unit: Unit) -> Iterator[Finding]:
        yield from self.check(unit)
        for found in unit.workflow.reported if unit.workflow else ():
            if found.code == self.code:
                yield Finding(
                    found.span,
                    found.message,
                    found.help,
                    found.notes,
                    severity=found.severity,
                    step=found.step,
                )


def _tidied(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    return tuple(Note(tidy(note.message), note.span) for note in notes)


def rule(code: str, name: str, severity: Severity = Severity.ERROR, fix: str = "") -> Callable[[Check], Rule]:
    """Make a module's check its rule. The module's docstring is the page that `wfc explain` prints."""

    def make(check: Check) -> Rule:
        return Rule(code, name, severity, fix, sys.modules[check.__module__].__doc__ or "", check)

    return make
