"""Who waits longer than a moment at a terminal sees how far it is; nobody else does."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import click
import pytest

from tests.e2e.command import write
from wfc.cli import check, compile, explore, test
from wfc.cli.shared import output

TEST = "answers: {build: done}\ntests:\n  - {name: one, expect: {}}\n"
COMMANDS = {
    "check": (check.command, ["--no-cache"], r"checking \[#+\] 4/4"),
    "compile": (compile.command, ["--check", "--no-cache"], r"compiling \[#+\] 4/4"),
    "test": (test.command, [], r"testing \[#+\] 2/2"),
    "explore": (
        explore.command,
        ["one", "--runs", "20"],
        r"exploring \[[#.]+\] \d+/20, \d+ branches reached",
    ),
}


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "workflows", one="", two="")
    for name in ("one", "two"):
        (tmp_path / "workflows" / f"{name}.test.yaml").write_text(TEST, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(output, "_MOMENT", 0)
    monkeypatch.setattr(output, "_OFTEN", 0)
    monkeypatch.setattr(os, "get_terminal_size", lambda stream: os.terminal_size((80, 24)))


def on_screen(monkeypatch: pytest.MonkeyPatch, name: str, *options: str) -> str:
    command, arguments, _ = COMMANDS[name]
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    command.main([*arguments, *options], prog_name=name, standalone_mode=False)
    return screen.getvalue()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bar_moves_and_leaves_nothing_behind(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = on_screen(monkeypatch, name)
    assert re.search(COMMANDS[name][2], seen)
    assert seen.endswith("\r\x1b[K")


@pytest.mark.parametrize("columns", [60, 40, 25, 9])
@pytest.mark.parametrize("name", COMMANDS)
def test_it_stays_within_one_line(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda stream: os.terminal_size((columns, 24)))
    lines = on_screen(monkeypatch, name).split("\r\x1b[K")
    assert any(lines)
    assert max(map(len, lines)) < columns


@pytest.mark.parametrize("name", COMMANDS)
def test_there_is_none_where_it_is_not_wanted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_screen(monkeypatch, name, "--no-progress") == ""
    if any("--quiet" in one.opts for one in COMMANDS[name][0].params if isinstance(one, click.Option)):
        assert on_screen(monkeypatch, name, "--quiet") == ""
    monkeypatch.setenv("TERM", "dumb")
    assert on_screen(monkeypatch, name) == ""
