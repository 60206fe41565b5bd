"""Which command lines a list of patterns covers."""

from __future__ import annotations

import pytest

from wfc_runtime.execute.commands import is_covered

LIST = ("pytest *", "git status", "make test", "cat * > out.txt")


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q tests",
        "  git status  ",
        "git status && pytest -q x",
        "git status; make test",
        "pytest 'a; b' | pytest -q",
        'pytest "a && b"',
        "pytest a\\;b",
        "git status\nmake test\n",
        "# first\ngit status",
        "cat a.txt > out.txt",
        "pytest $HOME",
    ],
)
def test_a_command_line_is_covered_when_each_command_of_it_is(command: str) -> None:
    assert is_covered(command, LIST)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "rm -rf x",
        "git status; rm -rf x",
        "git status && rm -rf x",
        "pytest x | sh",
        "pytest x & rm y",
        "pytest $(rm y)",
        'pytest "$(rm y)"',
        "pytest `rm y`",
        'pytest "`rm y`"',
        "pytest ${x:=$(rm y)}",
        "pytest <(rm y)",
        "pytest x > ~/.bashrc",
        "pytest x < /etc/passwd",
        "LD_PRELOAD=./evil.so pytest x",
        "(rm y)",
        "git status\nrm y",
        "if true; then git status; fi",
        "! git status",
        "eval pytest x",
        "pytest 'x",
        "pytest x <<EOF\nrm\nEOF",
        "/tmp/pytest x",
    ],
)
def test_what_is_not_on_the_list_or_can_hide_something_is_not_covered(command: str) -> None:
    assert not is_covered(command, LIST)


def test_a_pattern_that_is_the_whole_text_covers_it_whatever_it_has() -> None:
    text = "for x in 1 2; do echo $(date) > $x; done"
    assert is_covered(text, (text,))
    assert not is_covered(text + "; rm y", (text,))


def test_an_empty_list_covers_nothing() -> None:
    assert not is_covered("true", ())
