from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.execute.serving import Site
from wfc_runtime.execute import Grant, execute

Execute = Callable[..., dict[str, Any]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder that is granted; beside it is one that is not."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def do(root: Path) -> Execute:
    """Do one action with any command granted, in that folder only."""
    grant = Grant(root, commands=None)

    def run(kind: str, **parameters: Any) -> dict[str, Any]:
        with_grant = parameters.pop("grant", grant)
        stop = parameters.pop("stop", None)
        return execute({"type": kind, "parameters": parameters}, with_grant, "r1", stop)

    return run


@pytest.fixture
def sh(do: Execute) -> Execute:
    def run(command: str, **parameters: Any) -> dict[str, Any]:
        return do("shell", command=command, **parameters)

    return run


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie that nobody has waited for yet is as good as gone.
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc").exists()
