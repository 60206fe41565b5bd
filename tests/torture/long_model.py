"""Generated workflows on the real service, beside the plain interpreter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

from tests.model.test_model import Model, ServingModel, agreement
from tests.torture.progress import Progress

_EXAMPLES = 500
_SERVED = 60
"""With commands to run, an example takes five times as long."""
SHRINK = bool(os.environ.get("TORTURE_SHRINK"))
"""Make a failing example small: that takes minutes."""


def run(folder: Path, size: float, tell: Progress) -> Iterator[str]:
    examples, served = round(_EXAMPLES * size) or 1, round(_SERVED * size) or 1
    some = settings(
        max_examples=examples,
        stateful_step_count=50,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate, *([Phase.shrink] if SHRINK else [])],
        suppress_health_check=list(HealthCheck),
    )
    plain = agreement(Model, some, lambda count: tell(count / examples / 2))
    yield f"{_told(plain)}: the service and the plain interpreter agreed after every call"
    few = settings(some, max_examples=served)
    serving = agreement(ServingModel, few, lambda count: tell(0.5 + count / served / 2))
    yield f"{_told(serving)}: servers that work themselves and the plain interpreter agreed after every call"


def _told(figures: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in figures.items())
