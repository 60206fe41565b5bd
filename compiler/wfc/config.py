"""The settings in `[tool.wfc]` of pyproject.toml: folders, ignored checks, limits, grants and the engine."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from wfc.codes import refusal
from wfc.struct import struct
from wfc.suggest import did_you_mean

Reader = Callable[[str, str, Any], Any]
AT_ONCE = 50
"""The default limit of pending actions of a run."""
ANY = "*"
"""The pattern that matches every command."""
MORE_WORKFLOWS = Path(".aromcp", "workflows")
"""A folder of workflows beside the project's own, by a convention of other tools."""
GITHUB_WORKSPACE = "GITHUB_WORKSPACE"
"""The environment variable with the root of the repository in a GitHub Actions job: annotations are relative to it."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ConfigError(Exception):
    """A setting is invalid. The message says which and why."""


class ReadError(Exception):
    """A file of the project can't be read."""


@struct(frozen=True, slots=True)
class TextFile:
    """A file that a workflow names, whose text becomes part of its module."""

    text: str = ""
    problem: str = ""
    """Why it can't be used; empty if it can."""


@struct(frozen=True)
class ExecSettings:
    """`[tool.wfc.exec]`: the actions that a server may execute itself."""

    allow: tuple[str, ...] = ()
    """Patterns of commands; `*` allows any command, and any file of the project."""
    read: tuple[str, ...] = ()
    """Patterns of files that it may read. Patterns of commands grant no file access."""
    write: tuple[str, ...] = ()
    """Patterns of files that it may write."""
    http: tuple[str, ...] = ()
    """Hosts that it may make requests to."""
    blocks: tuple[str, ...] = ()
    """Own block types that it may run."""
    roots: tuple[str, ...] = ()
    """Folders outside the project that it may use."""
    env: tuple[str, ...] = ()
    """Names of environment variables that commands get in addition to the usual ones."""
    parallel: int = 8
    reply_seconds: int = 50
    """How long a call waits for an action of the server before it replies that the action is still running."""


@struct(frozen=True)
class CompileLimits:
    """The maximum size of a workflow."""

    source_bytes: int = 1024 * 1024
    nesting: int = 5
    steps: int = 1000
    fields: int = 2000
    call_depth: int = 5
    yaml_depth: int = 64
    yaml_nodes: int = 100_000


@struct(frozen=True)
class Config:
    root: Path
    """The folder of the project. Source paths in module headers are relative to it."""
    workflows: str = "workflows"
    generated: str = "generated"
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    """The block types of installed distributions that the project uses."""
    tools: tuple[str, ...] | None = None
    """The tools that agents have; None if they are not set."""
    limits: CompileLimits = field(default_factory=CompileLimits)
    elicit: bool = False
    """Whether `wfc serve` asks the user directly, with a form of the client."""
    hooks: bool = True
    """Whether `wfc hook` answers the hooks of Claude Code."""
    run_limits: dict[str, int] = field(default_factory=dict)
    """The limits of runs that differ from the defaults."""
    exec: ExecSettings = field(default_factory=ExecSettings)
    """The actions that `wfc serve` may execute itself."""
    agents: dict[str, Any] | None = None
    """Names and wishes for `wfc run --agent`: `default`, `parallel`, `models` and, by name, `roles`. None where the
    project has no such table."""
    journal_requires_agent: bool = False
    """Whether the journal only takes entries of named agents."""
    engine: str = "sqlite"
    """The engine that stores the runs."""
    temporal: dict[str, Any] = field(default_factory=dict)
    """The settings of the Temporal server."""
    configured: bool = False
    """Whether a [tool.wfc] table was found."""

    @property
    def workflows_dir(self) -> Path:
        return self.root / self.workflows

    @property
    def workflow_dirs(self) -> tuple[Path, ...]:
        """The folders of the project's workflows: its own, and `.aromcp/workflows` if there is one."""
        return (self.workflows_dir, *(one for one in (self.root / MORE_WORKFLOWS,) if one.is_dir()))

    @property
    def generated_dir(self) -> Path:
        return self.root / self.generated


IMPORT_ENDINGS = (".yaml", ".yml")


def import_places(folder: str, name: str, folders: Iterable[str]) -> list[str]:
    """Where a file that another one imports may be: relative to the folder of that file, or to a folder of workflows.

    All paths are relative to the project. SECURITY. None of them leads out of it, as far as the text of a path says.
    """
    if os.path.isabs(name) or os.path.splitdrive(name)[0] or "\0" in name:
        return []
    found = (os.path.normpath(os.path.join(one, name)).replace(os.sep, "/") for one in (folder, *folders))
    return [one for one in dict.fromkeys(found) if one.partition("/")[0] != ".." and not os.path.isabs(one)]


def real(path: Path) -> Path:
    """The path with symbolic links resolved. A cycle of links is left as it is, and fails when the file is read."""
    return Path(os.path.realpath(path))


def find_root(start: Path) -> Path | None:
    """The nearest folder, from here upwards, with a pyproject.toml or a git repository."""
    for folder in (start, *start.parents):
        # A repository without a pyproject.toml is a project, too.
        if (folder / "pyproject.toml").is_file() or (folder / ".git").exists():
            return folder
    return None


def _root_without_project(folder: Path) -> Path:
    """A folder `workflows` is treated as that of its parent. So are the folders inside it, if the parent is the current
    folder or inside that: elsewhere, such a name says nothing."""
    here = real(Path("."))
    for one in (folder, *folder.parents):
        if one.name == Config.workflows and (one == folder or here in one.parents):
            # `.claude/workflows` belongs to the project that has `.claude`.
            return (
                one.parent.parent
                if one.parent.name.startswith(".") and here in one.parent.parents
                else one.parent
            )
    return folder


def load_config(start: Path) -> Config:
    """The settings that apply to a folder."""
    folder = real(start)
    root = find_root(folder)
    if root is None:
        return Config(_root_without_project(folder))
    if not (root / "pyproject.toml").is_file():
        return Config(root)
    file = root / "pyproject.toml"
    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool")
        table = tool.get("wfc") if isinstance(tool, dict) else None
        return Config(root) if table is None else _config(root, table)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, ConfigError) as error:
        raise ConfigError(f"{file}: {error}") from error


def _config(root: Path, table: Any) -> Config:
    values = _read_table("tool.wfc", table, _SETTINGS)
    values["journal_requires_agent"] = values.pop("journal", False)
    for code in values.get("ignore", ()):
        if wrong := refusal(code):
            raise ConfigError(f"[tool.wfc] ignore {wrong}")
    calls = values["limits"].call_depth if "limits" in values else CompileLimits.call_depth
    if calls != CompileLimits.call_depth:
        # Each call is a run inside another, so runs must be allowed to nest as deep as calls.
        values["run_limits"] = {"depth": calls + 1, **values.get("run_limits", {})}
    return Config(root, configured=True, **values)


# Readers of settings: each takes the table and the key of a value, and returns the value or raises `ConfigError`.


def _misfit(table: str, key: str, what: str) -> ConfigError:
    return ConfigError(f"[{table}] {key} must be {what}")


def _path(table: str, key: str, value: Any) -> str:
    # Settings come with a cloned project, and must not name files outside of it.
    if not isinstance(value, str) or not value or Path(value).is_absolute() or ".." in Path(value).parts:
        raise _misfit(table, key, "a path inside the project, as text")
    return value


def _text(table: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _misfit(table, key, "text")
    return value


def _texts(table: str, key: str, value: Any, what: str = "a list of text") -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _misfit(table, key, what)
    return tuple(value)


_BLOCK_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")


def _block_types(table: str, key: str, value: Any) -> tuple[str, ...]:
    """Names of entry points. A path or a module would let a pull request choose what is imported."""
    names = _texts(table, key, value, "a list of names of block types")
    if not all(map(_BLOCK_TYPE.fullmatch, names)) or len(set(names)) < len(names):
        raise _misfit(table, key, "a list of names of block types, each once; no path and no module")
    return names


def _flag(table: str, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _misfit(table, key, "true or false")
    return value


def _count(table: str, key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _misfit(table, key, "a whole number of 1 or more")
    return value


def _one_of(*choices: str) -> Reader:
    def read(table: str, key: str, value: Any) -> str:
        if value not in choices:
            raise _misfit(table, key, " or ".join(f'"{choice}"' for choice in choices))
        return str(value)

    return read


def _table_of(readers: Mapping[str, Reader], noun: str = "setting") -> Reader:
    """A table inside a table, with a reader for each of its keys."""

    def read(table: str, key: str, value: Any) -> dict[str, Any]:
        return _read_table(f"{table}.{key}", value, readers, noun)

    return read


def _read_table(
    name: str, table: Any, readers: Mapping[str, Reader], noun: str = "setting"
) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise ConfigError(f"[{name}] must be a table")
    for key in table:
        if key not in readers:
            # Unknown keys are errors: a misspelt setting that is ignored would look as if it applied.
            raise ConfigError(f"[{name}] has no {noun} `{key}`; {did_you_mean(key, readers)}")
    return {key: readers[key](name, key, value) for key, value in table.items()}


def _limits(table: str, key: str, value: Any) -> CompileLimits:
    readers = dict.fromkeys(CompileLimits.__match_args__, _count)
    return CompileLimits(**_table_of(readers, "limit")(table, key, value))


def _run_limits(table: str, key: str, value: Any) -> dict[str, int]:
    # Imported here: only projects with this table need it.
    from wfc_runtime.machine.values import Limits

    # A removed setting gets an explanation instead of "unknown".
    if isinstance(value, dict) and "grace_seconds" in value:
        raise ConfigError(
            f"[{table}.{key}] `grace_seconds` was removed: an action that is overdue stays pending; "
            "a step fails by the clock only if it has a `deadline`"
        )
    known = [item.name for item in fields(Limits) if item.name not in ("expressions", "grace_seconds")]
    found: dict[str, int] = _table_of(dict.fromkeys(known, _count), "limit")(table, key, value)
    return found


def _exec(table: str, key: str, value: Any) -> ExecSettings:
    return ExecSettings(**_read_table(f"{table}.{key}", value, _EXEC_SETTINGS))


def _agents(table: str, key: str, value: Any) -> dict[str, Any]:
    name = f"{table}.{key}"
    if not isinstance(value, dict):
        raise ConfigError(f"[{name}] must be a table")
    plain = {one: value[one] for one in _AGENT_SETTINGS if one in value}
    roles = {}
    for role, about in value.items():
        # Every other key is the name of a role.
        if role in plain:
            continue
        if not isinstance(about, dict):
            known = ", ".join(_AGENT_SETTINGS)
            raise ConfigError(
                f'[{name}] {role} must be a table such as {{use = "claude"}}; settings are {known}'
            )
        roles[role] = _read_table(f"{name}.{role}", about, _ROLE_SETTINGS)
    return {**_read_table(name, plain, _AGENT_SETTINGS), "roles": roles}


def _journal(table: str, key: str, value: Any) -> bool:
    return bool(_table_of({"require_agent": _flag})(table, key, value).get("require_agent", False))


def _words(table: str, key: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) and one for one in value.values()):
        raise _misfit(table, key, "a table of text")
    return dict(value)


def _allow(table: str, key: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (ANY,) if value else ()
    return _texts(table, key, value, "a list of text or true or false")


def _env(table: str, key: str, value: Any) -> tuple[str, ...]:
    names = _texts(table, key, value)
    if wrong := no_variable(names):
        raise _misfit(table, key, f"names of variables: {wrong}")
    return names


def no_variable(names: Iterable[str]) -> str:
    """The error for the first text that is not the name of an environment variable; empty if all are."""
    for name in names:
        if not _VARIABLE.fullmatch(name):
            help_ = "; its value comes from the environment" if "=" in name else ""
            return f"`{name[:60]}` is not the name of a variable{help_}"
    return ""


def _temporal(table: str, key: str, value: Any) -> dict[str, Any]:
    # Imported here: only projects with this table need it.
    from wfc_runtime.service.temporal.settings import FLAGS, SETTABLE

    # Files are committed, and keys in them would be published.
    if isinstance(value, dict) and "api_key" in value:
        raise ConfigError(f"[{table}.{key}] must not contain the API key; set WFC_TEMPORAL_API_KEY")
    if isinstance(value, dict) and "key" in value:
        raise ConfigError(
            f"[{table}.{key}] must not contain an encryption key; set WFC_TEMPORAL_KEY, or name a file with key_file"
        )
    readers: dict[str, Reader] = {name: _flag if name in FLAGS else _text for name in SETTABLE}
    found: dict[str, Any] = _table_of(readers)(table, key, value)
    return found


_EXEC_SETTINGS = {
    "allow": _allow,
    "read": _texts,
    "write": _texts,
    "http": _texts,
    "blocks": _block_types,
    "roots": _texts,
    "env": _env,
    "parallel": _count,
    "reply_seconds": _count,
}
_AGENT_SETTINGS: dict[str, Reader] = {"default": _text, "parallel": _count, "models": _words}
_ROLE_SETTINGS: dict[str, Reader] = {"use": _text, "agent": _text, "model": _text}
_SETTINGS: dict[str, Reader] = {
    "workflows": _path,
    "generated": _path,
    "ignore": _texts,
    "exclude": _texts,
    "plugins": _block_types,
    "tools": _texts,
    "elicit": _flag,
    "hooks": _flag,
    "engine": _one_of("sqlite", "temporal"),
    "limits": _limits,
    "run_limits": _run_limits,
    "exec": _exec,
    "agents": _agents,
    "journal": _journal,
    "temporal": _temporal,
}
