"""Settings for all tests.

Hypothesis looks at the same few examples in each run. `HYPOTHESIS_PROFILE=shrink` makes a failing one of these small,
which takes minutes; `HYPOTHESIS_PROFILE=long` looks much further.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

gc.disable()  # Until all tests are there.

_CACHE = tempfile.TemporaryDirectory(prefix="wfc-cache-")
"""What wfc remembers in tests, in this process or another, is forgotten with them."""
os.environ["XDG_CACHE_HOME"] = _CACHE.name
os.environ.setdefault("WFC_TESTS_FORKS", _CACHE.name)
# Hundreds of processes import the same modules, also where the outer shell wants none of them compiled for good.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

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
    "tests/conformance/test_conformance.py::test_every_case_passes",
    "tests/property/",
    "tests/unit/test_growth.py",
    "tests/unit/expr/test_hostile.py",
    "tests/runtime/test_replaced_files",
    "tests/runtime/test_registry.py::test_versions_that_nobody_has_used_for_long",
    "tests/lsp/test_work.py",
    "tests/lsp/test_checking.py::test_versions_of_a_text",
    "tests/server/test_debug_and_author_tools.py::test_what_the_author_tools_compiled",
    "tests/e2e/test_compile_command.py::test_the_same_bytes",
    "tests/e2e/test_incremental_check.py::test_over_any_changes",
    "tests/torture/test_http.py",
    "tests/unit/test_api.py::test_programs_that_use_it_are_typed",
    "tests/mutation/test_every_place",
    "tests/javascript/test_attacks.py::test_exhaustion",
    "tests/javascript/test_attacks.py::test_other_threads",
    "tests/robustness/",
    "tests/phases/test_proof.py",
    "tests/phases/test_server.py",
    "tests/execute/test_own_blocks.py::test_settings",
    "tests/agents/test_endings.py::test_a_program_that_ignores_the_request",
    "tests/server/test_durability",
    "tests/server/test_inspector",
    "tests/runtime/test_durability",
    "tests/front/test_kills.py::test_kills_under_load",
    "tests/front/test_kills.py::test_a_line_",
    "tests/front/test_kills.py::test_memory",
    "tests/front/test_kills.py::test_workers_that_die",
    "tests/front/test_kills.py::test_what_waits",
    "tests/front/test_kills.py::test_a_worker_that_closes",
    "tests/front/test_cache.py::test_what_an_answer_depends",
    "tests/front/test_ends.py::test_a_client_that_reads_nothing",
    "tests/front/test_ends.py::test_a_stopped_worker_is_killed",
    "tests/front/test_sessions",
    "tests/browser/",
    "tests/page/test_engines.py::test_a_failed_run_is_retried_through_the_api[temporal]",
    "tests/page/test_engines.py::test_a_gate_of_a_called_workflow_is_answered_through_the_api[temporal]",
    "tests/page/test_engines.py::test_a_migration_is_described_before_it_is_done[temporal]",
    "tests/page/test_engines.py::test_every_view_of_a_run_can_be_had[temporal]",
    "tests/page/test_engines.py::test_what_each_answer_leads_to_is_shown_before_it_is_given[temporal]",
    "tests/bench/test_peers.py::test_one_peer",
    "tests/bench/test_peers.py::test_a_package",
    "tests/execute/test_outliving.py::test_nothing_is_left_when_the_run_is",
    "tests/execute/test_outliving.py::test_nothing_is_left_when_the_server_is",
    "tests/execute/test_outliving.py::test_nothing_is_left_when_the_time_is",
    "tests/e2e/test_pre_commit",
    "tests/e2e/test_ci.py",
    "tests/e2e/test_release",
    "tests/docs/test_docs.py::test_pages_and_pictures_of_the_library",
    "tests/e2e/test_interrupts",
    "tests/blocks/test_runs.py::test_a_block_may_wait_for_hundreds",
    "tests/blocks/test_git_and_data.py",
    "tests/unit/explore/test_explore_command.py::test_no_further_workflow",
    "tests/torture/test_crashes.py::test_killed_in_every",
    "tests/temporal/test_agent_worker",
    "tests/temporal/test_archive",
    "tests/temporal/test_encrypted_runs",
    "tests/temporal/test_encryption",
    "tests/temporal/test_load",
    "tests/temporal/test_import",
    "tests/temporal/test_renewal",
    "tests/temporal/test_served",
    "tests/temporal/test_workers",
    "tests/unit/test_generated_typing",
    "tests/unit/test_rules_apart",
    "tests/golden/test_golden.py::test_their_modules_pass_mypy",
)
"""What takes most of the time. `make test` leaves it to `make test-slow`; CI runs both."""
BOTH = "tests/runtime/"
"""Where a test is quick with one engine and slow with the other: its fixture says which."""


LONGEST = (
    "tests/temporal/test_load",
    "tests/temporal/test_workers",
    "tests/bench/test_peers",
    "tests/server/test_inspector",
    "tests/e2e/test_",
)
"""The slowest of the slow, first: whichever comes last keeps one process busy and all others waiting."""


TOGETHER = (
    "tests/e2e/test_release",
    "tests/e2e/test_pre_commit",
    "tests/server/test_inspector",
)
"""What these files install takes longer than their tests: with `--dist loadgroup`, one process does all of a file."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only slow or only quick tests are asked for, a file that has none need not be imported."""
    wanted = config.getoption("markexpr")
    if wanted not in ("slow", "not slow") or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    all_slow = name.startswith(SLOW)
    some_slow = all_slow or name.startswith(BOTH) or any(part.startswith(f"{name}::") for part in SLOW)
    return (all_slow if wanted == "not slow" else not some_slow) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        elif not item.nodeid.startswith(BOTH) and item.get_closest_marker("slow"):
            raise pytest.UsageError(f"{item.nodeid} is slow: that is said in SLOW of tests/conftest.py")
    items.sort(key=_start_late)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are processors: servers, timeouts and disks are waited for."""
    return ((os.cpu_count() or 1) * 3 + 1) // 2


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """pytest-xdist 3.8 looks for its groups where pytest 9.2 no longer keeps them, and so finds none."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if "mypy" in nodeid:
                return "mypy"  # One after the other, with what each has read kept for the next.
            return nodeid.partition("::")[0] if nodeid.startswith(TOGETHER) else nodeid

    return Grouped(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    # Thousands of tests with their modules stay to the end: no search for garbage need look at them at all.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def _start_late(item: pytest.Item) -> int:
    places = (place for place, part in enumerate(LONGEST) if item.nodeid.startswith(part))
    return next(places, len(LONGEST)) if item.get_closest_marker("slow") else len(LONGEST)


@pytest.fixture(scope="session")
def temporal_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real server. All processes of a session share one, and it ends with the session."""
    from tests.support import PATIENCE
    from tests.temporal_server import owner, shared_server
    from wfc_runtime.service.temporal import rpc

    # A busy machine may keep a run from answering for longer than a user would wait.
    rpc._PATIENCE = PATIENCE
    root: Path = tmp_path_factory.getbasetemp()
    return shared_server(root.parent if "PYTEST_XDIST_WORKER" in os.environ else root, owner())
