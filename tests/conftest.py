"""Settings for all tests.

Hypothesis looks at the same few examples in each run. `HYPOTHESIS_PROFILE=shrink` makes a failing one of these small,
which takes minutes; `HYPOTHESIS_PROFILE=long` looks much further.
"""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

_CACHE = tempfile.TemporaryDirectory(prefix="wfc-cache-")
"""What wfc remembers in tests, in this process or another, is forgotten with them."""
os.environ["XDG_CACHE_HOME"] = _CACHE.name
if "PYTHONPYCACHEPREFIX" not in os.environ:
    # Hundreds of commands are run: they share compiled modules, also where the outer shell wants none written.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(_CACHE.name, "bytecode")

# What a shell starts in the background ignores Ctrl-C, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)

settings.register_profile(
    "shrink", max_examples=40, derandomize=True, deadline=None, database=None, suppress_health_check=_SLOW
)
settings.register_profile("quick", settings.get_profile("shrink"), phases=[Phase.explicit, Phase.generate])
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


SLOW = (
    "tests/property/",
    "tests/mutation/test_every_place",
    "tests/robustness/",
    "tests/server/test_durability",
    "tests/runtime/test_durability",
    "tests/bench/test_peers.py::test_one_peer",
    "tests/bench/test_peers.py::test_a_package",
    "tests/e2e/test_pre_commit",
    "tests/e2e/test_ci.py",
    "tests/e2e/test_release",
    "tests/e2e/test_interrupts",
    "tests/torture/test_crashes.py::test_killed_in_every",
    "tests/temporal/test_load",
    "tests/temporal/test_moving",
    "tests/temporal/test_renewal",
    "tests/temporal/test_served",
    "tests/temporal/test_workers",
    "mypy",
)
"""What takes most of the time. `make test` leaves it to `make test-slow`; CI runs both."""


LONGEST = (
    "tests/temporal/test_load",
    "tests/temporal/test_workers",
    "tests/bench/test_peers",
    "tests/e2e/test_",
)
"""The slowest of the slow, first: whichever comes last keeps one process busy and all others waiting."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(part in item.nodeid for part in SLOW):
            item.add_marker(pytest.mark.slow)
            if "tests/e2e/" in item.nodeid:
                # What a file installs once takes longer than its tests: one process does all of them.
                item.add_marker(pytest.mark.xdist_group(item.path.name))
    items.sort(key=_start_late)


def _start_late(item: pytest.Item) -> int:
    places = (place for place, part in enumerate(LONGEST) if part in item.nodeid)
    return next(places, len(LONGEST)) if item.get_closest_marker("slow") else len(LONGEST)


@pytest.fixture(scope="session")
def temporal_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real server. All processes of a session share one, and it ends with the session."""
    from tests.temporal_server import shared_server

    root: Path = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        return shared_server(root.parent, os.getppid())
    return shared_server(root, os.getpid())
