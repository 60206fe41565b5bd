"""Settings for all tests. `HYPOTHESIS_PROFILE=long pytest tests/property` looks much further."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)

settings.register_profile(
    "quick", max_examples=50, derandomize=True, deadline=None, database=None, suppress_health_check=_SLOW
)
settings.register_profile("long", max_examples=3000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
