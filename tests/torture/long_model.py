"""Thousands of generated workflows on the real service, beside the plain interpreter."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.test_model import Model
from tests.torture.progress import Progress

_EXAMPLES = 2000
SHRINK = bool(os.environ.get("TORTURE_SHRINK"))
"""Make a failing example small: that takes minutes."""


def run(folder: Path, size: float, tell: Progress) -> Iterator[str]:
    examples = round(_EXAMPLES * size) or 1
    figures: Counter[str] = Counter()
    teardown = Model.teardown

    def counted(self: Model) -> None:
        if self.world is not None:
            figures["workflows"] += 1
            figures["calls"] += self.world.calls
            figures["runs"] += len(self.world.family.runs)
            figures[self.world.root.status] += 1
            tell(figures["workflows"] / examples)
        teardown(self)

    some = settings(
        max_examples=examples,
        stateful_step_count=50,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate, *([Phase.shrink] if SHRINK else [])],
        suppress_health_check=list(HealthCheck),
    )
    with patch.object(Model, "teardown", counted):
        run_state_machine_as_test(Model, settings=some)
    told = ", ".join(f"{count} {name}" for name, count in figures.items())
    yield f"{told}: the service and the plain interpreter agreed after every call"
