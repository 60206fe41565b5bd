"""The terminal: what is shown goes to standard error, so that standard output holds the result alone."""

from __future__ import annotations

import getpass
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from wfc.render.style import printable, style_for

_SHOWN = 24
"""Lines."""


class LeftError(Exception):
    """The person wants to go on another time."""


class Console:
    def __init__(self) -> None:
        self.style = style_for(sys.stderr)
        self.is_live = sys.stderr.isatty()
        self._has_countdown = False
        self.actions = 0
        """How many have been shown."""

    def say(self, text: str = "", *styles: str, indent: int = 0) -> None:
        """Text from workflows and agents reaches the terminal as text, never as anything that controls it."""
        self.clear()
        for line in text.split("\n"):
            shown = printable(line)
            print(" " * indent + (self.style.paint(shown, *styles) if styles else shown), file=sys.stderr)

    def show(self, text: str, where_more: str = "") -> None:
        """A text from a run, as much of it as can be taken in at once."""
        lines = text.rstrip("\n").split("\n")
        self.say("\n".join(lines[:_SHOWN]), indent=4)
        if len(lines) > _SHOWN:
            self.say(f"... {len(lines) - _SHOWN} more lines{where_more}", "blue", indent=4)

    def ask(self, prompt: str, hidden: bool = False) -> str:
        """One line, without its end. `hidden`: what is typed does not appear."""
        self.clear()
        shown = f"    {self.style.paint(prompt, 'cyan')} "
        if hidden:
            try:
                return getpass.getpass(shown, sys.stderr)
            except EOFError:
                raise LeftError from None
        sys.stderr.write(shown)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
            raise LeftError
        return line.rstrip("\r\n")

    def countdown(self, text: str) -> None:
        """A line that the next one takes the place of."""
        sys.stderr.write(f"\r\x1b[2K    {printable(text.replace(chr(10), ' '))}")
        sys.stderr.flush()
        self._has_countdown = True

    def clear(self) -> None:
        if self._has_countdown:
            sys.stderr.write("\r\x1b[2K")
            self._has_countdown = False

    def edit(self, text: str, ending: str) -> str | None:
        """What the person makes of a text in their editor. None: the editor could not be used."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        handle, name = tempfile.mkstemp(prefix="wfc-", suffix=ending)
        path = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            # Standard output may be a file that gets the result.
            done = subprocess.run([*shlex.split(editor), name], stdout=sys.stderr, check=False)
            if done.returncode != 0:
                self.say(f"`{editor}` ended with exit code {done.returncode}", "red", indent=4)
                return None
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            self.say(f"can't use the editor `{editor}`: {error}", "red", indent=4)
            return None
        finally:
            path.unlink(missing_ok=True)
