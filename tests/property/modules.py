"""Generated modules in memory."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.property.grammar import HELPER, Tree, to_yaml
from tests.property.survival import compiled
from wfc.checker import has_errors
from wfc_runtime.machine import Workflow

_numbers = itertools.count(1)


def accepted(tree: Tree) -> str | None:
    """The module of a workflow in which wfc finds no error."""
    result = compiled(to_yaml(tree), HELPER)
    return None if has_errors(result.findings) else result.modules[0].text


@contextmanager
def imported(text: str) -> Iterator[Workflow]:
    """A module executed as if imported, and forgotten afterwards."""
    name = f"generated_{next(_numbers)}"
    module = sys.modules[name] = types.ModuleType(name)
    try:
        exec(compile(text, f"{name}.py", "exec"), vars(module))
        yield module.WORKFLOW
    finally:
        del sys.modules[name]


def samples(strategy: st.SearchStrategy[Any], number: int, first: int = 1) -> list[Any]:
    """The same few values each time, others for another seed."""
    found: list[Any] = []

    @seed(first)
    @settings(
        max_examples=number, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found
