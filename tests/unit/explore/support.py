"""Exploring workflows that are only text."""

from __future__ import annotations

from tests.support import load
from wfc.author.explore import Budget, Report, explore
from wfc.author.explore.explorer import make_search
from wfc.author.explore.search import Search
from wfc.cli.shared.workflow import compile_in_memory
from wfc.project import SourceFile

HEAD = 'name: w\nversion: "1.0.0"\n'


def search_of(*texts: str, runs: int = 300, seed: int = 0) -> Search:
    """The first of some workflows, before the search has begun."""
    return search_in(load(*texts).files[0], runs, seed)


def search_in(file: SourceFile, runs: int = 300, seed: int = 0) -> Search:
    """A workflow among others, before the search has begun."""
    assert file.workflow is not None
    assert file.name is not None
    modules = compile_in_memory(file.project.with_called(file))
    return make_search(modules, file.name, file.workflow.declared_inputs, Budget(runs, 600, seed))


def explored(text: str, runs: int = 300) -> Report:
    file = load(text).files[0]
    assert file.workflow is not None
    assert file.name is not None
    budget = Budget(runs, 600)
    return explore(compile_in_memory([file]), file.name, file.workflow.declared_inputs, budget)


def told(report: Report) -> list[tuple[str, str]]:
    return [(problem.kind, problem.step) for problem in report.problems]
