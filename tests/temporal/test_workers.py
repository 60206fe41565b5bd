"""Workers come and go, by SIGKILL too: runs go on, each with its own version."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.support import OK, TWO, TemporalBox, compile_to, step_ids, steps
from tests.support import PATIENCE, wait_until
from tests.temporal.processes import WFC, WorkerProcess, worker
from wfc_runtime.errors import DefinitionError
from wfc_runtime.header import read_header
from wfc_runtime.service.temporal import rpc
from wfc_runtime.service.temporal.engine import TemporalService

CHANGED = TWO.replace("command: make", "command: make all").replace("id: test", "id: verify")
MANY = steps(
    *[f"{{id: s{number}, type: shell, command: 'do {number}', output_to: o{number}}}" for number in range(8)],
    "{id: end, type: return, needs_state: [o0, o7], value: ['{{ state.o0.stdout }}', '{{ state.o7.stdout }}']}",
)


@pytest.fixture
def service(temporal_box: TemporalBox) -> Any:
    """A service with no worker in this process, on the time of the server."""
    made = TemporalService(temporal_box.settings, temporal_box.modules())
    yield made
    made.close()


def go_on(service: TemporalService, run: str) -> dict[str, Any]:
    """Work a run from wherever it is, sending each answer until it is acknowledged."""
    while True:
        reply = service.status(run)
        if reply["status"] != "pending_action":
            return reply
        [visit] = step_ids(reply)
        service.submit(run, visit, {**OK, "stdout": visit})


def test_a_run_goes_on_after_its_worker_was_killed(
    temporal_box: TemporalBox, service: TemporalService
) -> None:
    temporal_box.compile(MANY)
    first = WorkerProcess(temporal_box, temporal_box.root)
    run = service.start("w")["workflow_id"]
    service.submit(run, "s0", {**OK, "stdout": "s0"})
    first.kill()
    with worker(temporal_box, temporal_box.root):
        again = service.submit(run, "s0", {**OK, "stdout": "s0"})
        assert step_ids(again) == ["s1"]
        assert go_on(service, run)["result"] == ["s0", "s7"]


def test_a_retry_survives_the_death_of_the_worker_at_any_side_of_it(
    temporal_box: TemporalBox, service: TemporalService
) -> None:
    temporal_box.compile(MANY)
    first = WorkerProcess(temporal_box, temporal_box.root)
    run = service.start("w")["workflow_id"]
    assert service.submit(run, "s0", {"error": "broken"})["status"] == "failed"
    first.kill()
    with worker(temporal_box, temporal_box.root):
        assert step_ids(service.retry(run, "s0")) == ["s0@2"]
    with worker(temporal_box, temporal_box.root):
        # The same retry again, as from a client that was cut off: the run is where it was.
        assert step_ids(service.retry(run, "s0")) == ["s0@2"]
        assert go_on(service, run)["result"] == ["s0@2", "s7"]
        visits = [
            event.get("step_id") for event in service.history(run)["events"] if event["event"] == "submitted"
        ]
        assert visits == ["s0", "s0@2", *[f"s{number}" for number in range(1, 8)]]


def test_workers_killed_in_the_middle_lose_and_double_nothing(
    temporal_box: TemporalBox, service: TemporalService
) -> None:
    temporal_box.compile(MANY)
    with worker(temporal_box, temporal_box.root) as steady, ThreadPoolExecutor(6) as pool:
        runs = [service.start("w")["workflow_id"] for _ in range(6)]
        work = [pool.submit(go_on, service, run) for run in runs]
        for _ in range(2):
            shaky = WorkerProcess(temporal_box, temporal_box.root)
            time.sleep(0.3)
            shaky.kill()
        replies = [one.result(PATIENCE) for one in work]
        assert [reply["result"] for reply in replies] == [["s0", "s7"]] * 6
        for run in runs:
            events = service.history(run)["events"]
            assert [event.get("step_id") for event in events] == [
                None,
                *[f"s{number}" for number in range(8)],
            ]
        assert steady.stop() == 0


def test_ctrl_c_ends_a_worker_with_130(temporal_box: TemporalBox) -> None:
    temporal_box.compile(TWO)
    with worker(temporal_box, temporal_box.root) as one:
        assert one.stop(signal.SIGINT) == 130
        assert "Traceback" not in one.said.read_text(encoding="utf-8")


def test_a_run_whose_version_no_worker_has_waits_says_so_and_goes_on_when_one_has(
    temporal_box: TemporalBox, service: TemporalService, tmp_path: Path
) -> None:
    temporal_box.compile(TWO)
    first = WorkerProcess(temporal_box, temporal_box.root)
    run = service.start("w")["workflow_id"]
    first.kill()
    elsewhere = tmp_path / "elsewhere"
    compile_to(_folder(elsewhere), CHANGED)
    with worker(temporal_box, elsewhere) as lacking:
        with pytest.raises(DefinitionError) as caught:
            service.submit(run, "build", OK)
        assert caught.value.code == "definition_missing"
        assert "no worker that was asked has version" in caught.value.message
        assert "of `w`; the run waits for one" in caught.value.message
        assert "--modules" in caught.value.hint
        said = lacking.wait_for("runs of `w` are waiting: this worker does not have version")
        # One rpc, and nothing where an MCP client would read it.
        assert "Traceback" not in said
        assert lacking.out.read_text(encoding="utf-8") == ""
        # The module comes to where the worker looks: no restart is needed.
        [module] = temporal_box.generated.glob("*.py")
        header = read_header(module.read_text(encoding="utf-8"))
        assert header is not None
        kept = elsewhere / ".wfc" / "modules"
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(module, kept / f"{header.body}.py")
        lacking.wait_for("its runs continue")
        assert step_ids(_once_it_goes_on(service, run)) == ["test"]


def test_a_worker_does_not_execute_a_module_that_comes_to_its_folders_after_its_start(
    temporal_box: TemporalBox, service: TemporalService, tmp_path: Path
) -> None:
    temporal_box.compile(TWO)
    first = WorkerProcess(temporal_box, temporal_box.root)
    run = service.start("w")["workflow_id"]
    first.kill()
    elsewhere, more = tmp_path / "elsewhere", tmp_path / "more"
    compile_to(_folder(elsewhere), CHANGED)
    more.mkdir()
    with worker(temporal_box, elsewhere, "--modules", str(more)) as lacking:
        for folder in (more, elsewhere / "generated"):
            shutil.copy(temporal_box.generated / "w.py", folder / "w_old.py")
        with pytest.raises(DefinitionError):
            service.submit(run, "build", OK)
        said = lacking.wait_for(f"{more}/w_old.py is untrusted: it appeared after the worker started")
        assert "generated/w_old.py is untrusted" in said
    with worker(temporal_box, elsewhere, "--modules", str(more)):
        assert step_ids(_once_it_goes_on(service, run)) == ["test"]


def test_a_worker_finds_older_versions_in_a_further_folder(
    temporal_box: TemporalBox, service: TemporalService, tmp_path: Path
) -> None:
    temporal_box.compile(TWO)
    first = WorkerProcess(temporal_box, temporal_box.root)
    run = service.start("w")["workflow_id"]
    first.kill()
    elsewhere = tmp_path / "elsewhere"
    compile_to(_folder(elsewhere), CHANGED)
    with worker(temporal_box, elsewhere, "--modules", str(temporal_box.generated)):
        assert step_ids(service.submit(run, "build", OK)) == ["test"]


def test_one_worker_works_two_versions_side_by_side(
    temporal_box: TemporalBox, service: TemporalService
) -> None:
    temporal_box.compile(TWO)
    with worker(temporal_box, temporal_box.root):
        old = service.start("w")["workflow_id"]
        temporal_box.compile(CHANGED)
        new = service.start("w")["workflow_id"]
        assert step_ids(service.submit(old, "build", OK)) == ["test"]
        assert step_ids(service.submit(new, "build", OK)) == ["verify"]
    # A new process knows the old version from the folder where it was kept.
    with worker(temporal_box, temporal_box.root):
        assert service.submit(old, "test", OK)["status"] == "completed"
        assert service.submit(new, "verify", OK)["status"] == "completed"


def test_a_run_without_its_version_can_still_be_cancelled(
    temporal_box: TemporalBox, service: TemporalService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporal_box.compile(TWO)
    first = WorkerProcess(temporal_box, temporal_box.root)
    run = service.start("w")["workflow_id"]
    first.kill()
    compile_to(_folder(tmp_path / "elsewhere"), CHANGED)
    with worker(temporal_box, tmp_path / "elsewhere"):
        with pytest.raises(DefinitionError):
            service.status(run)
        assert service.cancel(run, "lost")["status"] == "cancelled"
        # Nobody can tell more of it: the answer does not wait until the patience of the engine ends.
        monkeypatch.setattr(rpc, "_PATIENCE", float("inf"))
        assert service.status(run)["reason"] == "lost"


def _once_it_goes_on(service: TemporalService, run: str) -> dict[str, Any]:
    """Temporal tries a task again after a pause; until then the run still says what it lacked."""

    def reply() -> dict[str, Any] | None:
        try:
            return service.submit(run, "build", OK)
        except DefinitionError:
            return None

    return wait_until(reply, "another attempt") or {}


def _folder(root: Path) -> Path:
    root.mkdir()
    return root / "generated"


def test_a_worker_without_a_server_says_so_and_ends_with_2_every_time(tmp_path: Path) -> None:
    """One in five used to abort: native threads outlived the interpreter."""

    def try_it(_: int) -> tuple[int, str]:
        done = subprocess.run(
            [*WFC, "worker"],
            cwd=tmp_path,
            env={**os.environ, "WFC_TEMPORAL_ADDRESS": "127.0.0.1:1"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.returncode, done.stderr

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(try_it, range(12)))
    assert {status for status, _ in ends} == {2}
    assert all(said.startswith("wfc: there is no Temporal server at 127.0.0.1:1") for _, said in ends)
