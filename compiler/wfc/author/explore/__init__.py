"""Explore a workflow: drive every branch with generated results, on the pure machine, to find failures."""

from wfc.author.explore.explorer import Budget, Case, Problem, Report, Seed, Unreached, explore
from wfc.author.explore.search import NoInputsError

__all__ = ["Budget", "Case", "NoInputsError", "Problem", "Report", "Seed", "Unreached", "explore"]
