"""The plan of a workflow: the actions that it can request, computed from its machines before anything runs."""

from wfc_runtime.plan.explain import explain_plan, needed_access

__all__ = ["explain_plan", "needed_access"]
