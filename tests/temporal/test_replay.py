"""Recorded histories are replayed with today's runtime: what it would do differently breaks runs under way.

Histories and the modules of that time are in `histories/`; `python -m tests.temporal.record` makes them anew.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from tests.runtime.support import TWO, compile_to
from tests.runtime.test_history import EVERYTHING
from tests.temporal.record import CALLER, FOLDER, MODULES, RUNS, WAIT
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.temporal.codec import converter_of
from wfc_runtime.service.temporal.encryption import NO_KEYS
from wfc_runtime.service.temporal.modules import Modules, register_worker
from wfc_runtime.service.temporal.workflow import RunWorkflow

RECORDED = json.loads(RUNS.read_text(encoding="utf-8"))
HISTORIES = sorted(RECORDED)


class TodaysModules(Modules):
    """Whatever the digest: the module that today's compiler makes of the same workflow."""

    def of_digest(self, digest: str, workflow: str) -> Module:
        return self.registry.find(workflow)


def replay(name: str, modules: Modules) -> Exception | None:
    """Why a history can't be replayed, if it can't."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    replayer = Replayer(
        workflows=[RunWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=converter_of(NO_KEYS),
        build_id=name,
        debug_mode=True,
    )
    register_worker(f"replay-{name}", modules)
    history = WorkflowHistory.from_json(RECORDED[name], text)
    return asyncio.run(replayer.replay_workflow(history, raise_on_replay_failure=False)).replay_failure


def test_there_are_histories() -> None:
    assert HISTORIES == ["cancelled-call", "cancelled-child", "child", "everything", "timer"]


@pytest.mark.parametrize("name", HISTORIES)
def test_a_recorded_history_replays_with_the_modules_of_its_time(name: str, tmp_path: Path) -> None:
    assert replay(name, Modules(Registry(tmp_path), MODULES)) is None


@pytest.mark.parametrize("name", HISTORIES)
def test_a_recorded_history_replays_with_the_modules_of_today(name: str, tmp_path: Path) -> None:
    if name in ("everything", "child"):
        compile_to(tmp_path, EVERYTHING)
    else:
        compile_to(tmp_path, TWO, CALLER, WAIT)
    assert replay(name, TodaysModules(Registry(tmp_path), tmp_path / "kept")) is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("{id: w, type: wait, duration_seconds: 9}", "{id: w, type: shell, command: x}", "Nondeterminism"),
        ("sequential: true, ", "", "Nondeterminism"),
        (
            "- {id: ask, type: prompt",
            "- {id: more, type: wait, duration_seconds: 3}\n  - {id: ask, type: prompt",
            "`ask` has not been reached",
        ),
    ],
)
def test_a_changed_module_fails_the_replay(old: str, new: str, why: str, tmp_path: Path) -> None:
    assert old in EVERYTHING
    changed = EVERYTHING.replace(old, new).replace("{{ previous | length }}", "")
    compile_to(tmp_path, changed)
    failure = replay("everything", TodaysModules(Registry(tmp_path), tmp_path / "kept"))
    assert why in str(failure)


def test_a_module_changed_in_its_texts_only_is_found_by_its_digest(tmp_path: Path) -> None:
    compile_to(tmp_path, EVERYTHING.replace("echo {{ uuid() }}", "echo {{ uuid() }} twice"))
    failure = replay("everything", Modules(Registry(tmp_path), tmp_path / "kept"))
    assert "the worker has no version" in str(failure)
