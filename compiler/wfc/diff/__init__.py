"""The difference in meaning between two versions of a workflow, and whether runs under way bear it."""

from wfc.diff.compare import compare
from wfc.diff.model import Change, Detail, Reason, WorkflowDiff

__all__ = ["Change", "Detail", "Reason", "WorkflowDiff", "compare"]
