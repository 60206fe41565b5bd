"""Colour: on terminals, unless the environment says otherwise."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import wfc
from tests.forks import command
from tests.support import PATIENCE


def on_a_terminal(folder: Path, **variables: str) -> str:
    """What a person sees: the command's output on a pseudo terminal."""
    outer, inner = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    subprocess.run(
        command("check", "misspelt.yaml"),
        cwd=folder,
        env={**env, "TERM": "xterm", **variables},
        stdout=inner,
        timeout=PATIENCE,
        check=False,
    )
    os.close(inner)
    shown = b""
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(outer)
    return shown.decode()


def test_there_is_colour_on_a_terminal(folder: Path) -> None:
    assert "\x1b[31;1merror[WF004 unknown-field]\x1b[0m" in on_a_terminal(folder)


@pytest.mark.parametrize(
    "variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}]
)
def test_there_is_none_on_a_terminal_when_the_environment_says_so(
    folder: Path, variables: dict[str, Any]
) -> None:
    assert "\x1b" not in on_a_terminal(folder, **variables)


def test_there_is_no_colour_in_a_pipe_unless_it_is_forced(folder: Path) -> None:
    assert "\x1b" not in wfc("check", "misspelt.yaml", cwd=folder).out
    assert "\x1b[31;1m" in wfc("check", "misspelt.yaml", cwd=folder, env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in wfc("check", "misspelt.yaml", cwd=folder, env={"FORCE_COLOR": ""}).out
