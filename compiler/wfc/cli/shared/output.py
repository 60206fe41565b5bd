"""Printing: findings, values, and a progress bar on a terminal."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import click

from wfc.render.style import printable

if TYPE_CHECKING:
    from wfc.findings import Diagnostic

FORMATS = ("text", "json", "github", "sarif")


def rendered(found: Sequence[Diagnostic], form: str, out: TextIO | None = None) -> str:
    """Render findings for standard output or `out` in one of the four formats. Only the renderer used is imported."""
    match form:
        case "json":
            from wfc.render.json import render_json

            return render_json(found)
        case "github":
            from wfc.render.github import render_github

            return render_github(found)
        case "sarif":
            from wfc.render.sarif import render_sarif

            return render_sarif(found)
        case _:
            from wfc.render.style import style_for
            from wfc.render.text import render_text

            return render_text(found, style_for(out or sys.stdout))


_FOREIGN = re.compile(r"[^\x20-\x7e\n]")


def write_out(text: str) -> None:
    """Print the answer. The exit code stays the same if the reader closes the pipe early."""
    with suppress(BrokenPipeError):
        sys.stdout.write(text)
        sys.stdout.flush()


def say(line: str) -> None:
    write_out(f"{line}\n")


def data(text: str) -> str:
    """Print a value: unchanged to a file or a program, with control characters escaped to a terminal."""
    return printable(text) if sys.stdout.isatty() else text


def to_json(value: Any) -> str:
    """JSON for programs and people: characters that would control a terminal are escaped, which keeps the value."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return _FOREIGN.sub(lambda found: _escaped(found[0]), text)


def _escaped(char: str) -> str:
    return char if char.isprintable() else json.dumps(char)[1:-1]


_MOMENT = 0.7
_OFTEN = 0.1
_WIDTH = 30
_NARROW = 5
_USUAL = 80
no_progress_option = click.option("--no-progress", is_flag=True, help="Never show a progress bar.")


class Show(Protocol):
    def __call__(self, done: int, of: int, note: str = "") -> None: ...


@contextmanager
def progress(what: str, wanted: bool) -> Iterator[Show]:
    """A progress bar on standard error, removed at the end. It is silent if standard error is not a terminal."""
    if not wanted or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, of, note="": None
        return
    due = time.monotonic() + _MOMENT
    shown = False

    def show(done: int, of: int, note: str = "") -> None:
        nonlocal shown, due
        now = time.monotonic()
        if now < due:
            return
        shown, due = True, now + _OFTEN
        sys.stderr.write(f"\r\x1b[K{_line(what, done, of, note, _columns())}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _line(what: str, done: int, of: int, note: str, columns: int) -> str:
    """Cut to one line of the terminal: a wrapped line could not be erased."""
    count = f"{done}/{of}{note}"
    width = min(_WIDTH, columns - len(f"{what} [] {count}") - 1)
    full = width * done // max(of, 1)
    bar = f" [{'#' * full}{'.' * (width - full)}]" if width >= _NARROW else ""
    return f"{what}{bar} {count}"[: columns - 1]


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL
    except OSError:
        return _USUAL
