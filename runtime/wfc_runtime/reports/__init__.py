"""The report of an agent, read from what was submitted: an object, or the agent's text as its client hands it back."""

from wfc_runtime.reports.fields import FORM, STATUSES
from wfc_runtime.reports.reading import UnreadableReportError, read_report

__all__ = ["FORM", "STATUSES", "UnreadableReportError", "read_report"]
