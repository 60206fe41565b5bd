"""Files, folders and streams that are not what one would think."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import SMALL, inside, wfc, write
from tests.support import PATIENCE

WRONG = SMALL.format(name="build").replace("shell", "shel")


@pytest.fixture
def circle(tmp_path: Path) -> Path:
    """A link that leads to itself, among the workflows."""
    write(tmp_path / "workflows", build="")
    (tmp_path / "workflows" / "circle.yaml").symlink_to("circle.yaml")
    return tmp_path


@pytest.mark.parametrize("command", [("check",), ("compile",), ("compile", "--check"), ("test",)])
def test_a_link_that_leads_to_itself_among_the_workflows_is_named(
    circle: Path, command: tuple[str, ...]
) -> None:
    (circle / "pyproject.toml").write_text("[tool.wfc]\nexclude = ['x']\n")
    (circle / "workflows" / "circle.test.yaml").symlink_to("circle.test.yaml")
    done = inside(*command, cwd=circle)
    assert done.status == 2, done.err
    assert "circle" in done.err
    assert "symbolic links" in done.err


@pytest.mark.parametrize("command", ["check", "compile", "graph", "run", "test", "watch"])
def test_a_link_that_leads_to_itself_is_wrong_usage(circle: Path, command: str) -> None:
    done = inside(command, Path("workflows", "circle.yaml"), cwd=circle)
    assert done.status == 2
    assert str(Path("workflows", "circle.yaml")) in done.err


def test_what_can_be_read_only_once_is_checked(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(WRONG,))
    writer.start()
    done = wfc("check", "pipe.yaml", cwd=tmp_path, env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    writer.join(PATIENCE)
    assert done.out.startswith("pipe.yaml:5:11: error[WF007 unknown-step-type]")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("check", "-"), 1),
        (("runs", "import", "-"), 2),
        (("run", "workflows/build.yaml", "--inputs", "-"), 2),
    ],
)
def test_a_standard_input_that_is_closed_is_empty(
    tmp_path: Path, arguments: tuple[str, ...], status: int
) -> None:
    write(tmp_path / "workflows", build="")
    command = [sys.executable, "-m", "wfc", *arguments]
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "internal error" in done.stderr) == (status, False), done.stderr


@pytest.mark.parametrize("command", ["check", "doctor", "runs list"])
def test_a_folder_that_has_been_removed_is_said_so(tmp_path: Path, command: str) -> None:
    (tmp_path / "gone").mkdir()
    words = [sys.executable, "-m", "wfc", *command.split()]
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *words],
        cwd=tmp_path / "gone",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "wfc: this folder has been removed\n")


def test_without_a_project_modules_of_another_folder_stay(tmp_path: Path) -> None:
    write(tmp_path / "flows", alpha="")
    write(tmp_path / "others", beta="")
    (tmp_path / "empty").mkdir()
    for folder in ("flows", "others", "empty"):
        assert wfc("compile", folder, cwd=tmp_path).status == 0
    made = tmp_path / "generated"
    assert sorted(path.name for path in made.glob("*.py")) == ["alpha.py", "beta.py"]
    for folder in ("flows", "others"):
        assert wfc("compile", "--check", folder, cwd=tmp_path).out == "generated: 1 unchanged\n"


def test_a_compiled_workflow_runs_although_its_source_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "workflows", build="")
    assert inside("compile", cwd=tmp_path).status == 0
    (tmp_path / "answers.yaml").write_text("answers: {build: done}\n")
    read_bytes = Path.read_bytes

    def read(path: Path) -> Any:
        if path.name == "build.yaml":
            raise PermissionError(13, "Permission denied", str(path))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    done = inside("run", "build", "--answers", "answers.yaml", cwd=tmp_path)
    assert done.status == 0, done.err
    shutil.rmtree(tmp_path / "workflows")
    assert inside("run", "build", "--answers", "answers.yaml", cwd=tmp_path).status == 0
