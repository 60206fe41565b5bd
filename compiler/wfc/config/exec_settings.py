"""`[tool.wfc.exec]`: what a server may do by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from wfc.config.readers import count, misfit, read_table, texts
from wfc.struct import struct

ANY = "*"
"""The pattern that stands for every command."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@struct(frozen=True)
class ExecSettings:
    allow: tuple[str, ...] = ()
    """Patterns of commands; `*` is any command, and any file of the project."""
    read: tuple[str, ...] = ()
    """Patterns of files that it may read. Patterns of commands grant no file access."""
    write: tuple[str, ...] = ()
    """Patterns of files that it may write."""
    roots: tuple[str, ...] = ()
    """Folders beside the project's that it may work in."""
    env: tuple[str, ...] = ()
    """Names of environment variables that commands see beside the usual ones."""
    parallel: int = 8
    reply_seconds: int = 50
    """How long a call waits for what the server does before it replies that it is still running."""


def read_exec(table: str, key: str, value: Any) -> ExecSettings:
    return ExecSettings(**read_table(f"{table}.{key}", value, _READERS))


def no_variable(names: Iterable[str]) -> str:
    """What is wrong with the first of some texts that is no name of an environment variable; empty if all are."""
    for name in names:
        if not _VARIABLE.fullmatch(name):
            help_ = "; its value comes from the environment" if "=" in name else ""
            return f"`{name[:60]}` is no name of a variable{help_}"
    return ""


def _allow(table: str, key: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (ANY,) if value else ()
    return texts(table, key, value, "a list of text or true or false")


def _env(table: str, key: str, value: Any) -> tuple[str, ...]:
    names = texts(table, key, value)
    if wrong := no_variable(names):
        raise misfit(table, key, f"names of variables: {wrong}")
    return names


_READERS = {
    "allow": _allow,
    "read": texts,
    "write": texts,
    "roots": texts,
    "env": _env,
    "parallel": count,
    "reply_seconds": count,
}
