"""What the operator of a server allows it to do by itself. Without a grant it does nothing, and the agent is asked.

SECURITY. A command that is covered runs with all the rights of the server's user: the list of commands and the
folders are rails against mistakes and against workflows that were tampered with, not a sandbox. Whoever may write a
file that a listed command reads (a Makefile, a test) may run anything. For workflows that are not trusted, run the
server in a container.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from wfc_runtime.execute.commands import refusal_of
from wfc_runtime.execute.file_patterns import matches_any
from wfc_runtime.execute.protected import Protected

Access = Literal["read", "write"]
DEFAULT_ENV = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "VIRTUAL_ENV"),
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ"),
)
"""What commands see of the server's environment unless more is named. It has keys and tokens that they must not."""


@dataclass(frozen=True)
class Grant:
    """Commands, folders, names of the environment, and limits."""

    root: Path
    """Where commands start; relative paths are below it."""
    commands: tuple[str, ...] | None = ()
    """Patterns of commands (see `commands.py`). None: any command, and any file in the folders."""
    more_roots: tuple[Path, ...] = ()
    """Further folders that files and working directories may be in."""
    read: tuple[str, ...] = ()
    """Patterns of files that may be read (see `file_patterns.py`). Patterns of commands grant no file access."""
    write: tuple[str, ...] = ()
    """Patterns of files that may be written."""
    pattern_root: Path | None = None
    """What relative patterns are relative to, where that is not `root`."""
    protected: Protected = field(default_factory=Protected)
    """What is never written, whatever else is granted."""
    env: tuple[str, ...] = ()
    """Names of environment variables that commands see beside `DEFAULT_ENV`. With a list of commands, a workflow may
    set no others: PATH or LD_PRELOAD would make any command out of a listed one."""
    stdout_bytes: int = 128 * 1024
    stderr_bytes: int = 48 * 1024
    file_bytes: int = 10 * 1024 * 1024
    result_bytes: int = 250 * 1024
    seconds: float = 6 * 3600
    parallel: int = 8
    """Commands at once, in all runs of a server."""

    @classmethod
    def nothing(cls) -> Grant:
        return cls(Path.cwd())

    @classmethod
    def all_commands(cls, root: Path) -> Grant:
        """For a person who runs a workflow in a terminal: any command, files below `root` and temporary ones."""
        return cls(root, commands=None, more_roots=temporary_folders())

    def extended(self, roots: Iterable[Path], env: Iterable[str]) -> Grant:
        """The same with further folders and names."""
        return replace(self, more_roots=(*self.more_roots, *roots), env=(*self.env, *env))

    @property
    def anything(self) -> bool:
        return self.commands is None or bool(self.commands or self.read or self.write)

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.root, *self.more_roots)

    def grants_files(self, access: Access) -> bool:
        """Whether any file may be read or written."""
        return self.commands is None or bool(self._patterns(access))

    def file_refusal(self, access: Access, path: Path) -> str:
        """Why a resolved path is not covered; empty where it is. Protected paths are a matter of their own."""
        if self.commands is None or matches_any(self._patterns(access), self.pattern_root or self.root, path):
            return ""
        return f"{path} matches no --allow-{access} pattern of the server"

    def _patterns(self, access: Access) -> tuple[str, ...]:
        return self.read if access == "read" else self.write

    def refusal(self, command: str) -> str:
        """Why a command is not covered; empty where it is."""
        if self.commands is None:
            return ""
        if not self.commands:
            return "no command was granted to the server"
        return refusal_of(command, self.commands)

    def environment(self, own: dict[str, str]) -> dict[str, str]:
        """What a command sees: the server's variables by name, then its own."""
        names = (*DEFAULT_ENV, *self.env)
        return {**{name: os.environ[name] for name in names if name in os.environ}, **own}


def temporary_folders() -> tuple[Path, ...]:
    return tuple(dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"))))
