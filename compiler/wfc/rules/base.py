"""What a rule is: a code, a name, a severity, a page of documentation and a check."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from wfc.caching import pattern
from wfc.findings import Diagnostic, Fix, Note, Severity, tidy
from wfc.language.ast import Workflow
from wfc.project import SourceFile
from wfc.struct import struct
from wfc.yaml import Span


class Finding(NamedTuple):
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


Check = Callable[[SourceFile], Iterator[Finding]]


@struct(frozen=True)
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

    def run(self, unit: SourceFile) -> Iterator[Diagnostic]:
        workflow = unit.workflow
        if workflow is not None and self.code in workflow.silent:
            return _NONE
        found = list(self.check(unit))
        if workflow is not None and (workflow.surface is not None or workflow.reported):
            found = self._beside_its_language(found, workflow)
        return self._diagnostics(found, workflow) if found else _NONE

    def _diagnostics(self, findings: list[Finding], workflow: Workflow | None) -> Iterator[Diagnostic]:
        mild = workflow is not None and self.code in workflow.mild
        foreign = workflow if workflow is not None and workflow.surface is not None else None
        for found in findings:
            yield Diagnostic(
                code=self.code,
                name=self.name,
                severity=Severity.WARNING if mild else found.severity or self.severity,
                message=tidy(_as_written(found, foreign) if foreign else found.message),
                span=found.span,
                notes=_tidied(found.notes),
                help=tidy(_spelt(found.help, foreign)),
                fix=found.fix,
                step=found.step,
                flow=_tidied(found.flow),
                secret=found.secret,
            )

    def _beside_its_language(self, found: list[Finding], workflow: Workflow) -> list[Finding]:
        """What the check finds, and what the front end has found: it knows better where both speak of one place."""
        reported = [one for one in workflow.reported if one.code == self.code]
        if workflow.surface is not None:
            found = [self._in_its_words(one, workflow) for one in found]
        if not reported:
            return found
        places = {(one.span.start, one.span.end) for one in reported}
        return [
            *(one for one in found if (one.span.start, one.span.end) not in places),
            *(
                Finding(one.span, one.message, one.help, one.notes, one.fix, one.severity, one.step)
                for one in reported
            ),
        ]

    def _in_its_words(self, found: Finding, workflow: Workflow) -> Finding:
        """A finding of ours in a file of another language, which may know another way out."""
        # A fix changes the text of a template, and here that is not the text of the file.
        fix = found.fix if self.code.startswith("WF0") else None
        # Where the core has no advice there is nothing to say otherwise.
        advice = workflow.advice.get(self.code, "") if found.help else ""
        return found._replace(help=advice or found.help, fix=fix)


_NONE: Iterator[Diagnostic] = iter(())
_EXPRESSION = pattern(r"`(?:state|inputs)\.[^`]*`")
_MADE = pattern(r"`(?!state\.)[^`]*\bstate\.[^`]*`")
_PATH = pattern(r"[\w-]+(?:\.[\w-]+)+")


def _as_written(found: Finding, workflow: Workflow) -> str:
    """The message with the expression that it speaks of as the file has it."""
    if _PATH.fullmatch(found.span.text):
        return _EXPRESSION.sub(lambda _: f"`{found.span.text}`", found.message, count=1)
    # What nobody wrote has no name in the file.
    return _spelt(_MADE.sub("the other side", found.message), workflow)


def _spelt(text: str, workflow: Workflow | None) -> str:
    """With the names that the file's own language has for things."""
    for ours, theirs in (workflow.spelling if workflow else {}).items():
        text = text.replace(f"`{ours}", f"`{theirs}")
    return text


def _tidied(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    return tuple(Note(tidy(note.message), note.span) for note in notes)


def rule(code: str, name: str, severity: Severity = Severity.ERROR, fix: str = "") -> Callable[[Check], Rule]:
    """Make a module's check its rule. The module's docstring is the page that `wfc explain` prints."""

    def make(check: Check) -> Rule:
        return Rule(code, name, severity, fix, sys.modules[check.__module__].__doc__ or "", check)

    return make
