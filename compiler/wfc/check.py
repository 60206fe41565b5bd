"""Every rule over every file, with suppressions taken into account."""

from __future__ import annotations

from collections.abc import Iterable

from wfc.diagnostics import Diagnostic, Severity
from wfc.rules import RULES
from wfc.spread import spread
from wfc.suppress import can_be_hidden
from wfc.unit import Project, Unit

_ON_FORM = tuple(rule for rule in RULES if rule.code.startswith("WF0"))


def check_project(project: Project) -> list[Diagnostic]:
    """All findings, sorted by place. None of the rules stops another."""
    return in_order(spread(check_unit, project.units, project.processes, project.progress))


def in_order(findings: Iterable[list[Diagnostic]]) -> list[Diagnostic]:
    return sorted((found for some in findings for found in some), key=lambda found: found.sort_key)


def check_unit(unit: Unit) -> list[Diagnostic]:
    """The findings of one file. WF704, which says what hid nothing, comes last in the list of rules."""
    found: dict[object, Diagnostic] = {}
    # One that is far too large, which WF010 says, would only keep the others busy.
    for rule in _ON_FORM if unit.is_hopeless else RULES:
        for diagnostic in rule.run(unit):
            if _is_wanted(diagnostic, unit):
                # What an alias or a merge brings to many places is wrong once.
                found.setdefault(diagnostic.sort_key, diagnostic)
    return list(found.values())


def _is_wanted(found: Diagnostic, unit: Unit) -> bool:
    if not can_be_hidden(found.code, found.severity):
        return True
    return found.code not in unit.config.ignore and not unit.suppressions.cover(found)


def has_errors(found: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in found)
