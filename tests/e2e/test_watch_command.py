"""`wfc watch`, watched."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import SMALL, wfc, write
from tests.forks import command
from tests.support import PATIENCE, wait_until

TEST = """\
tests:
  - name: it builds
    answers: {build: done}
    expect:
      actions: {build: make}
"""


class Watching:
    """A `wfc watch` under way, and what it has said so far."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            command("watch", *arguments),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        )
        self.said = ""
        self._read = 0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said += line

    def report(self, ending: str = "stop with Ctrl-C\n") -> str:
        """What it says next, up to the end of a report."""
        wait_until(lambda: ending in self.said[self._read :], lambda: f"{ending!r} after {self.said}")
        end = self.said.index(ending, self._read) + len(ending)
        fresh, self._read = self.said[self._read : end], end
        return fresh

    def stop(self) -> int:
        self._process.send_signal(signal.SIGINT)
        status = self._process.wait(PATIENCE)
        self._listener.join(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return status


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "workflows", build="", ship="")
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    (tmp_path / "workflows" / "build.test.yaml").write_text(TEST)
    return tmp_path


@pytest.fixture
def watching(project: Path) -> Iterator[Watching]:
    found = Watching(project)
    yield found
    found.stop()


def test_what_is_saved_is_compiled_and_its_tests_are_run(project: Path, watching: Watching) -> None:
    first = watching.report()
    assert "generated: wrote 2" in first
    assert "1 test passed" in first
    assert "watching 2 workflows" in first
    source = project / "workflows" / "build.yaml"
    source.write_text(SMALL.format(name="build").replace("make", "make all"))
    second = watching.report()
    assert "workflows/build.yaml" in second
    assert "wrote 1" in second
    assert "make all" in second
    assert "1 failed" in second
    assert "make all" in (project / "generated" / "build.py").read_text()
    (project / "workflows" / "ship.yaml").write_text(SMALL.format(name="ship").replace("make", "make ship"))
    third = watching.report()
    assert "passed" not in third, "no test belongs to it"


def test_mistakes_are_shown_once_and_go_and_files_come_and_go(project: Path, watching: Watching) -> None:
    watching.report()
    source = project / "workflows" / "build.yaml"
    source.write_text(SMALL.format(name="build").replace("shell", "shel"))
    assert watching.report().count("error[WF007 unknown-step-type]") == 1
    source.write_text(SMALL.format(name="build"))
    assert "error" not in watching.report()
    tests = project / "workflows" / "build.test.yaml"
    tests.write_text(TEST.replace("{build: done", "{biuld: done"))
    assert watching.report().count("error[WF119 test-reference]: there is no step `biuld`") == 1
    tests.write_text(TEST)
    assert "error" not in watching.report()
    (project / "workflows" / "ship.yaml").unlink()
    assert "removed" in watching.report()
    assert not (project / "generated" / "ship.py").exists()


def test_settings_that_cant_be_read_are_waited_out(project: Path, watching: Watching) -> None:
    watching.report()
    (project / "pyproject.toml").write_text("[tool.wfc")
    assert "waiting for a change" in watching.report("waiting for a change\n")
    (project / "pyproject.toml").write_text("[tool.wfc]\n")
    assert "watching 2 workflows" in watching.report()


def test_what_is_in_the_way_is_said_once_and_waited_out(project: Path, watching: Watching) -> None:
    watching.report()
    shutil.rmtree(project / "generated")
    (project / "generated").write_text("in the way")
    (project / "workflows" / "ship.yaml").write_text(SMALL.format(name="ship").replace("make", "make ship"))
    said = watching.report("waiting for a change\n")
    assert said == "wfc: `generated` is a file; modules go into a folder; waiting for a change\n"
    (project / "generated").unlink()
    said = watching.report()
    assert said.startswith(said[:8] + "  workflows/ship.yaml\ngenerated: wrote 2\n")


def test_without_a_project_modules_go_where_compiling_puts_them(tmp_path: Path) -> None:
    write(tmp_path / "flows", build="")
    (tmp_path / "flows" / "build.test.yml").write_text(TEST)
    watching = Watching(tmp_path, "flows")
    assert "1 test passed" in watching.report()
    (tmp_path / "flows" / "build.test.yml").write_text(TEST.replace("answers: {build: done}", "answers: {}"))
    assert "1 failed" in watching.report()
    watching.stop()
    assert (tmp_path / "generated" / "build.py").is_file()
    assert wfc("compile", "--check", "flows", cwd=tmp_path).status == 0


def test_ctrl_c_ends_it_cleanly(project: Path) -> None:
    watching = Watching(project)
    watching.report()
    assert watching.stop() == 130
    assert "Traceback" not in watching.said


def test_nothing_to_watch_is_said_so(tmp_path: Path) -> None:
    result = wfc("watch", cwd=tmp_path)
    assert result.status == 2
    assert "there is no folder `workflows`" in result.err
