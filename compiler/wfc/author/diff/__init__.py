"""The difference in meaning between two versions of a workflow, and whether runs in progress can continue."""

from wfc.author.diff.compare import Change, Detail, Reason, WorkflowDiff, compare

__all__ = ["Change", "Detail", "Reason", "WorkflowDiff", "compare"]
