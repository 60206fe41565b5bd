"""Work spread over processes: the same results in the same order, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.bench.workloads import write_project
from tests.e2e.command import SMALL
from tests.support import PATIENCE
from wfc import worker_pool as module
from wfc.checker import check_project
from wfc.compiler import compile_project
from wfc.config import Config
from wfc.project import Project, SourceFile, load_file
from wfc.render.json import render_json
from wfc.render.sarif import render_sarif
from wfc.render.style import Style
from wfc.render.text import render_text
from wfc.worker_pool import run_in_workers

CALLER = SMALL + "  - {{id: go, type: call, workflow: flow-1, with: {{nothing: 1}}}}\n"
UNSAFE = SMALL.replace("command: make", 'command: "make {{{{ inputs.who }}}}"')


# Whoever runs the tests may have a thread for itself; that one holds no lock that the work could want.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
can_fork = module._can_fork


@pytest.fixture(autouse=True)
def _helpers_are_always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH_IT", 1)
    monkeypatch.setattr(module, "_can_fork", lambda: True)


def project(processes: int) -> Project:
    """Seven files: right ones, wrong ones, one that calls, and two of the same name."""
    config = Config(Path("."))
    found = Project(config, processes=processes)
    texts = [SMALL, SMALL.replace("command", "comand"), CALLER, UNSAFE, "name: [", SMALL, SMALL]
    for number, text in enumerate(texts):
        data = text.format(name=f"flow-{min(number, 5)}").encode()
        load_file(f"flow-{number}.yaml", data, config, found)
    return found


def test_findings_are_the_same_however_many_processes_look_for_them() -> None:
    alone = check_project(project(1))
    assert {found.code for found in alone} >= {"WF001", "WF004", "WF110", "WF204"}
    for number in (2, 3, 7, 20):
        together = check_project(project(number))
        assert render_text(together, Style()) == render_text(alone, Style())
        assert render_json(together) == render_json(alone)
        assert render_sarif(together) == render_sarif(alone)


def test_modules_are_the_same_and_belong_to_the_units_of_the_project() -> None:
    one, two = project(1), project(3)
    alone = compile_project(one, {file: file.source.path for file in one.files})
    together = compile_project(two, {file: file.source.path for file in two.files})
    assert [(made.file_name, made.text) for made in together.modules] == [
        (made.file_name, made.text) for made in alone.modules
    ]
    assert all(made.file in two.files for made in together.modules)
    assert all(any(found.span.source is file.source for file in two.files) for found in together.findings)


def test_the_work_is_shared_and_comes_back_in_order() -> None:
    files = project(1).files
    done = run_in_workers(lambda file: (file, os.getpid()), files, 3)
    assert [file for file, _ in done] == files
    assert len({process for _, process in done}) == 3
    # The first file is done before the others are shared out.
    assert [process for _, process in done][1::3] == [os.getpid()] * len(files[1::3])
    assert done[0][1] == os.getpid()


def test_little_work_stays_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH_IT", 60_000)
    assert set(run_in_workers(lambda file: os.getpid(), project(1).files, 8)) == {os.getpid()}


def test_a_process_with_threads_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_can_fork", can_fork)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert set(run_in_workers(lambda file: os.getpid(), project(1).files, 3)) == {os.getpid()}
    finally:
        done.set()
        thread.join()


def nobody_is_left() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def test_what_a_helper_fails_at_is_done_here() -> None:
    here = os.getpid()

    def work(file: SourceFile) -> str:
        if os.getpid() != here:
            raise MemoryError
        return file.source.path

    files = project(1).files
    assert run_in_workers(work, files, 3) == [file.source.path for file in files]


def test_what_fails_everywhere_fails_as_it_would_alone() -> None:
    def work(file: SourceFile) -> str:
        raise RecursionError(file.source.path)

    before = nobody_is_left()
    with pytest.raises(RecursionError, match=r"flow-0\.yaml"):
        run_in_workers(work, project(1).files, 3)
    assert nobody_is_left() == before


def test_ctrl_c_ends_the_command_and_its_helpers_with_130(tmp_path: Path) -> None:
    write_project(tmp_path, workflows=200, steps=20)
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    helpers = [int(process.stdout.readline()) for _ in range(2)]
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err.strip()) == (130, "", "")
    assert len(set(helpers)) == 2
    assert not any(Path(f"/proc/{helper}").exists() for helper in helpers)


WAITING = """
import os, sys, time
import wfc.checker
from wfc.workspace import loading as files
from wfc.cli.main import main

first = []

def work(file):
    if not first:  # It is done before there are helpers.
        first.append(file)
        return []
    os.write(1, f"{os.getpid()}\\n".encode())
    time.sleep(60)

files._processors = lambda: 2
wfc.checker.check_file = work
sys.argv = ["wfc", "check", "--no-cache"]
main()
"""
