"""`[tool.wfc.exec]`: what a server may do by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

ANY = "*"
"""The pattern that stands for every command."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ExecSettings:
    allow: tuple[str, ...] = ()
    """Patterns of commands; `*` is any. Without one, the server does nothing by itself."""
    roots: tuple[str, ...] = ()
    """Folders beside the project's that it may work in."""
    env: tuple[str, ...] = ()
    """Names of environment variables that commands see beside the usual ones."""
    parallel: int = 8
    reply_seconds: int = 50
    """How long a call waits for what the server does before it replies that it is still running."""


def read_exec(table: Any, refuse: Callable[[str], Exception]) -> ExecSettings:
    """The table as settings. `refuse` makes the error of a message."""
    if not isinstance(table, dict):
        raise refuse("must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key == "allow":
            values[key] = _allow(value, refuse)
        elif key in ("roots", "env"):
            values[key] = _texts(key, value, refuse)
            if key == "env" and (wrong := no_variable(values[key])):
                raise refuse(f"env must be names of variables: {wrong}")
        elif key in ("parallel", "reply_seconds"):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise refuse(f"{key} must be a whole number of 1 or more")
            values[key] = value
        else:
            raise refuse(f"has no setting `{key}`; there is allow, roots, env, parallel, reply_seconds")
    return ExecSettings(**values)


def no_variable(names: Iterable[str]) -> str:
    """What is wrong with the first of some texts that is no name of an environment variable; empty if all are."""
    for name in names:
        if not _VARIABLE.fullmatch(name):
            help_ = "; its value comes from the environment" if "=" in name else ""
            return f"`{name[:60]}` is no name of a variable{help_}"
    return ""


def _allow(value: Any, refuse: Callable[[str], Exception]) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (ANY,) if value else ()
    return _texts("allow", value, refuse, " or true or false")


def _texts(key: str, value: Any, refuse: Callable[[str], Exception], more: str = "") -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise refuse(f"{key} must be a list of text{more}")
    return tuple(value)
