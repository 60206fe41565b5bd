"""The operator's file, which defines the agent programs and their rights, and the project's settings, which name them.

SECURITY. The file is in the user's configuration folder. It is refused if it is inside the project, since a pull
request could change it there, and if other users can write to it.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from wfc_runtime.agents import ADAPTERS
from wfc_runtime.agents.base import Adapter, shortened
from wfc_runtime.errors import RequestError, guess

AGENT_KINDS = ("delegate", "mcp_call", "shell")
"""The kinds of steps that an agent can do. A prompt is for a person."""
_TOOL = re.compile(r"read|edit|web|shell(\([^()]+\))?|mcp:[A-Za-z0-9_.-]+")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][^\s\0]{0,199}")
"""Never an option: that would begin with a dash."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AgentSettingsError(RequestError):
    """The operator's file or a name in the project's settings can't be used."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("agent_settings", message, hint)


@dataclass(frozen=True)
class Program:
    """One section of the operator's file."""

    name: str
    adapter: Adapter
    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """The names of environment variables that it gets in addition to the usual ones and those that its adapter
    needs."""
    tools: tuple[str, ...] | None = None
    """The maximum for a step; None for the default of the program."""
    denied: Literal["fail", "warn"] = "fail"
    """The effect of a denied tool on the call."""
    steps: tuple[str, ...] = ("delegate", "mcp_call")
    """The kinds of steps that it does."""
    seconds: float = 3600.0
    idle: float = 600.0
    """How long it may print nothing."""
    trusts_project: bool = False

    def tools_for(self, wanted: Sequence[str] | None) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        """The tools of a call, and those of them that need no question. A step can ask for fewer than the operator
        allows, and never for more: without a list of the operator, what it asks for is not granted."""
        if self.tools is None:
            return (None if wanted is None else tuple(wanted)), ()
        if wanted is None:
            return self.tools, self.tools
        found = [one for one in self.tools if one in wanted or one.partition("(")[0] in wanted]
        # `shell(git *)` is within a granted `shell`, so a step may narrow it to the pattern.
        found += [one for one in wanted if one.partition("(")[0] in self.tools and one not in found]
        return tuple(found), tuple(found)


@dataclass(frozen=True)
class Role:
    """The project's definition of `@name`."""

    use: str | None = None
    """The program; by default the one of the run."""
    agent: str | None = None
    """The agent as the program knows it."""
    model: str | None = None


@dataclass(frozen=True)
class Wishes:
    """`[tool.wfc.agents]` of the project: names, and nothing that grants a right."""

    default: str | None = None
    parallel: int = 4
    models: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)


@dataclass(frozen=True)
class Assignment:
    """The program for one step, with its settings."""

    program: Program
    agent: str | None = None
    model: str | None = None


@dataclass(frozen=True)
class Agents:
    """The programs of the operator and the names of the project, for the runs of one process."""

    programs: Mapping[str, Program]
    chosen: str
    """The program of `--agent`."""
    wishes: Wishes = field(default_factory=Wishes)

    def __post_init__(self) -> None:
        # All names are resolved at the start: an unknown one must not stop a run after hours of paid work.
        self.program(self.chosen)
        for name, role in self.wishes.roles.items():
            if role.use is not None:
                self.program(role.use)
            self.assigned(f"@{name}")

    def program(self, name: str) -> Program:
        found = self.programs.get(name)
        if found is None:
            known = ", ".join(sorted(self.programs))
            raise AgentSettingsError(
                f"there is no agent `{name}`", f"{guess(name, self.programs)}Known: {known}."
            )
        return found

    def assigned(self, agent: str | None, model: str | None = None) -> Assignment:
        """The program for a step that names this agent. `@task` means any sub-agent, so it names no program."""
        name = (agent or "").removeprefix("@")
        role = Role() if name in ("", "task") else self.wishes.roles.get(name, Role(agent=name))
        wanted = model or role.model
        if wanted and self.wishes.models and wanted not in self.wishes.models:
            raise AgentSettingsError(
                f"[tool.wfc.agents] `models` has no `{wanted}`", guess(wanted, self.wishes.models).strip()
            )
        named = self.wishes.models.get(wanted, wanted) if wanted else None
        # SECURITY. Both become arguments of the program, and come from the workflow or the project.
        for what, one in (("a model", named), ("an agent", role.agent)):
            if one is not None and not _PLAIN_NAME.fullmatch(one):
                raise AgentSettingsError(f"`{shortened(one)}` is not the name of {what}")
        return Assignment(self.program(role.use or self.chosen), role.agent, named)


# Reading the file.


def operator_file(environ: Mapping[str, str]) -> Path:
    given = environ.get("WFC_AGENTS")
    # A file that the operator names must exist; the default one may be absent.
    if given:
        return Path(given)
    base = environ.get("XDG_CONFIG_HOME")
    folder = Path(base) if base and os.path.isabs(base) else Path(environ.get("HOME") or "/") / ".config"
    return folder / "wfc" / "agents.toml"


def load_programs(path: Path, project: Path, is_named: bool = False) -> dict[str, Program]:
    """The built-in programs, and those of the operator's file. `is_named`: the operator named the file, so it must
    exist."""
    built_in = {name: Program(name, one, (one.program,)) for name, one in ADAPTERS.items() if one.program}
    try:
        # Without a file, the built-in programs work with their own defaults.
        if not path.exists() and not is_named:
            return built_in
        _require_safe(path, project)
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AgentSettingsError(f"{path} can't be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise AgentSettingsError(f"{path}: {error}") from None
    return built_in | {name: _program(path, name, table) for name, table in tables.items()}


def _require_safe(path: Path, project: Path) -> None:
    resolved = path.resolve()
    if resolved.is_relative_to(project.resolve()):
        raise AgentSettingsError(
            f"{path} is inside the project, where others can change it",
            "Keep the agents' settings in your configuration folder (~/.config/wfc/agents.toml).",
        )
    # A folder that others can write lets them replace the file, whatever its own mode is.
    for one in (resolved, resolved.parent):
        found = one.stat()
        if os.name == "posix" and found.st_uid not in (0, os.getuid()):
            raise AgentSettingsError(f"{one} belongs to another user")
        if os.name == "posix" and found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            raise AgentSettingsError(f"{one} can be written by other users", f"chmod o-w {one}")


def _program(path: Path, name: str, table: Any) -> Program:
    where = f"{path}: [{name}]"
    if not isinstance(table, dict):
        raise AgentSettingsError(f"{where} must be a table")
    for key in table:
        if key not in _READERS:
            raise AgentSettingsError(f"{where} has no setting `{key}`", guess(key, _READERS).strip())
    values = {key: _READERS[key](f"{where} {key}", value) for key, value in table.items()}
    adapter = ADAPTERS.get(values.pop("adapter", name))
    if adapter is None:
        known = ", ".join(ADAPTERS)
        raise AgentSettingsError(
            f"{where} needs an `adapter`", f"Adapters: {known}. `command` is for any other program."
        )
    command = values.pop("command", (adapter.program,) if adapter.program else ())
    if not command:
        raise AgentSettingsError(f'{where} needs a `command`, such as ["my-agent", "--quiet"]')
    return Program(name=name, adapter=adapter, command=command, **values)


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise AgentSettingsError(f"{where} must be text")
    return value


def _texts(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and "\0" not in one for one in value):
        raise AgentSettingsError(f"{where} must be a list of text")
    return tuple(value)


def _each(pattern: re.Pattern[str], what: str) -> Callable[[str, Any], tuple[str, ...]]:
    def read(where: str, value: Any) -> tuple[str, ...]:
        found = _texts(where, value)
        for one in found:
            if not pattern.fullmatch(one):
                raise AgentSettingsError(f"{where}: `{one[:60]}` is not {what}")
        return found

    return read


def _choice(*choices: str) -> Callable[[str, Any], str]:
    def read(where: str, value: Any) -> str:
        if value not in choices:
            raise AgentSettingsError(f"{where} must be {' or '.join(choices)}")
        return str(value)

    return read


def _seconds(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        raise AgentSettingsError(f"{where} must be a number of seconds above 0")
    return float(value)


def _flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise AgentSettingsError(f"{where} must be true or false")
    return value


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "adapter": _text,
    "command": _texts,
    "args": _texts,
    "env": _each(_VARIABLE, "the name of an environment variable"),
    "tools": _each(_TOOL, "a tool: read, edit, web, shell, shell(PATTERN) or mcp:SERVER"),
    "denied": _choice("fail", "warn"),
    "steps": _each(re.compile("|".join(AGENT_KINDS)), f"a kind of step: {', '.join(AGENT_KINDS)}"),
    "seconds": _seconds,
    "idle": _seconds,
    "trusts_project": _flag,
}
