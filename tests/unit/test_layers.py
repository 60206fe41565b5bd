"""No two packages or modules import each other, at any level. Imports inside functions count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from wfc_runtime.digraph import components

LATE = {
    # A generated class has `simulate`, which drives it by `step`, which takes such classes.
    "wfc_runtime": [("wfc_runtime.machine.chart", "wfc_runtime.machine.simulation")],
}
"""Imports inside functions that lead back, each with the reason."""


def siblings(graph: grimp.ImportGraph, package: str) -> dict[str, set[str]]:
    """What the direct children of a package import of each other, themselves or by a module inside them."""
    home = {
        module: child
        for child in graph.find_children(package)
        for module in (child, *graph.find_descendants(child))
    }
    found: dict[str, set[str]] = {child: set() for child in sorted(set(home.values()))}
    for module, child in home.items():
        imported = graph.find_modules_directly_imported_by(module)
        found[child] |= {home[other] for other in imported if other in home} - {child}
    return found


def cycles(graph: grimp.ImportGraph) -> Iterator[frozenset[str]]:
    for package in sorted(graph.modules):
        imports = {child: sorted(others) for child, others in siblings(graph, package).items()}
        yield from (frozenset(some) for some in components(list(imports), imports) if len(some) > 1)


@pytest.mark.parametrize("root", ["wfc", "wfc_runtime"])
def test_nothing_imports_what_imports_it(root: str) -> None:
    graph = grimp.build_graph(root, exclude_type_checking_imports=True, cache_dir=None)
    for importer, imported in LATE.get(root, ()):
        assert graph.direct_import_exists(importer=importer, imported=imported), "no longer needed"
        graph.remove_import(importer=importer, imported=imported)
    assert [sorted(found) for found in cycles(graph)] == []


def test_a_cycle_by_an_import_inside_a_function_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "round_trip" / "one"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "late.py").write_text("def go():\n    from round_trip.two import here\n    return here\n")
    (package.parent / "two.py").write_text("from round_trip import one\nhere = one\n")
    monkeypatch.syspath_prepend(tmp_path)
    graph = grimp.build_graph("round_trip", cache_dir=None)
    assert list(cycles(graph)) == [frozenset({"round_trip.one", "round_trip.two"})]
