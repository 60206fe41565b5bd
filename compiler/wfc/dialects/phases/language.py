"""The words of the phases language: severities, advice and names that differ from the core's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wfc.findings import Severity
from wfc.language.dialect import Language

_SILENT = frozenset({"WF211", "WF217", "WF304", "WF305", "WF306", "WF407", "WF411"})
"""Rules that do not apply. The steps are made by the front end: it reads a report only where its phase has ended
(WF217, WF304, WF305), keeps every report for the result (WF306), and lets one answer of each question simply go on
(WF407, WF411)."""


class PhasesLanguage(Language):
    step = "phase"
    roots = MappingProxyType(
        {
            "inputs": "the inputs of the run",
            "phases": "the reports of the phases that this one requires, as in `phases.design.architect.summary`",
        }
    )
    on_failure = "A phase that falls short asks the person: again, go on or abort. `retry` asks the agents again first."

    def __init__(self, reports: Mapping[str, str]) -> None:
        """`reports` has the path `phases.<id>.<role>` of each state field that keeps a report."""
        self._reports = reports

    def severity(self, code: str, default: Severity) -> Severity | None:
        return None if code in _SILENT else default

    def name_of(self, *path: object) -> str:
        match path:
            case ["state", field, *rest] if str(field) in self._reports:
                return super().name_of(self._reports[str(field)], *rest)
        return super().name_of(*path)
