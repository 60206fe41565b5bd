"""Exploring workflows that are only text."""

from __future__ import annotations

from tests.support import load
from wfc.cli.workflow import compile_in_memory
from wfc.explore import Budget, Report, explore
from wfc.explore.explorer import make_search
from wfc.explore.search import Search

HEAD = 'name: w\nversion: "1.0.0"\n'


def search_of(*texts: str, runs: int = 300, seed: int = 0) -> Search:
    project = load(*texts)
    unit = project.units[0]
    assert unit.workflow is not None
    assert unit.name is not None
    modules = compile_in_memory(project.units)
    return make_search(modules, unit.name, unit.workflow.declared_inputs, Budget(runs, 600, seed))


def explored(*texts: str, runs: int = 300, seed: int = 0, seconds: float = 600) -> Report:
    project = load(*texts)
    unit = project.units[0]
    assert unit.workflow is not None
    assert unit.name is not None
    modules = compile_in_memory(project.units)
    return explore(modules, unit.name, unit.workflow.declared_inputs, Budget(runs, seconds, seed))


def told(report: Report) -> list[tuple[str, str]]:
    return [(problem.kind, problem.step) for problem in report.problems]
