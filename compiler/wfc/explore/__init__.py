"""Driving every branch of a workflow with made-up results, on the pure machine, to find what can go wrong."""

from wfc.explore.explorer import Budget, explore
from wfc.explore.report import Case, Problem, Report, Unreached
from wfc.explore.search import NoInputsError

__all__ = ["Budget", "Case", "NoInputsError", "Problem", "Report", "Unreached", "explore"]
