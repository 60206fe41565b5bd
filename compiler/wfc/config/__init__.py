"""`[tool.wfc]` in pyproject.toml: where things are, what to ignore, how much is allowed."""

from __future__ import annotations

import os
import tomllib
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from wfc.codes import refusal
from wfc.config.exec_settings import ExecSettings, read_exec
from wfc.config.readers import (
    ConfigError,
    Reader,
    count,
    flag,
    one_of,
    path,
    read_table,
    table_of,
    text,
    texts,
)
from wfc.struct import struct

__all__ = ["CompileLimits", "Config", "ConfigError", "find_root", "load_config"]


AT_ONCE = 50
"""Actions that a run may ask for at once, where the project does not say."""


@struct(frozen=True)
class CompileLimits:
    """How large a workflow may be. Each message that names a limit comes from here."""

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
    """The project's folder: recorded source paths are relative to it."""
    workflows: str = "workflows"
    generated: str = "generated"
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """The tools that agents have; None where the project does not say."""
    limits: CompileLimits = field(default_factory=CompileLimits)
    elicit: bool = False
    """Whether `wfc serve` asks the person directly, with a form of the client's."""
    run_limits: dict[str, int] = field(default_factory=dict)
    """What a run may ask for, where it differs from the defaults."""
    exec: ExecSettings = field(default_factory=ExecSettings)
    """What `wfc serve` may do by itself."""
    engine: str = "sqlite"
    """What keeps the runs."""
    temporal: dict[str, Any] = field(default_factory=dict)
    """Where the Temporal server is, as far as the project says."""
    configured: bool = False
    """Whether a [tool.wfc] table was found."""

    @property
    def workflows_dir(self) -> Path:
        return self.root / self.workflows

    @property
    def generated_dir(self) -> Path:
        return self.root / self.generated


def real(path: Path) -> Path:
    """Where a path really leads. Links in a circle lead nowhere, which whoever reads it then says."""
    return Path(os.path.realpath(path))


def find_root(start: Path) -> Path | None:
    """The nearest folder from here up that holds a pyproject.toml or a git repository."""
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").is_file() or (folder / ".git").exists():
            return folder
    return None


def load_config(start: Path) -> Config:
    """The settings that hold for a folder."""
    folder = real(start)
    root = find_root(folder)
    if root is None:
        # No project, but the layout of one: a folder `workflows` means what it would as part of its parent.
        return Config(folder.parent if folder.name == Config.workflows else folder)
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
    values = read_table("tool.wfc", table, _SETTINGS)
    for code in values.get("ignore", ()):
        if wrong := refusal(code):
            raise ConfigError(f"[tool.wfc] ignore {wrong}")
    calls = values["limits"].call_depth if "limits" in values else CompileLimits.call_depth
    if calls != CompileLimits.call_depth:
        # What may be compiled may be run: each call is a run inside another.
        values["run_limits"] = {"depth": calls + 1, **values.get("run_limits", {})}
    return Config(root, configured=True, **values)


def _limits(table: str, key: str, value: Any) -> CompileLimits:
    readers = dict.fromkeys(CompileLimits.__match_args__, count)
    return CompileLimits(**table_of(readers, "limit")(table, key, value))


def _run_limits(table: str, key: str, value: Any) -> dict[str, int]:
    # Not at the top: only a project that has this table pays for it.
    from wfc_runtime.machine.limits import Limits

    known = [item.name for item in fields(Limits) if item.name != "expressions"]
    found: dict[str, int] = table_of(dict.fromkeys(known, count), "limit")(table, key, value)
    return found


def _temporal(table: str, key: str, value: Any) -> dict[str, Any]:
    # Not at the top: only a project that has this table pays for it.
    from wfc_runtime.service.temporal.settings import FLAGS, SETTABLE

    if isinstance(value, dict) and "api_key" in value:
        raise ConfigError(f"[{table}.{key}] must not hold the API key; set WFC_TEMPORAL_API_KEY")
    if isinstance(value, dict) and "key" in value:
        raise ConfigError(
            f"[{table}.{key}] must not hold an encryption key; set WFC_TEMPORAL_KEY, or name a file with key_file"
        )
    readers: dict[str, Reader] = {name: flag if name in FLAGS else text for name in SETTABLE}
    found: dict[str, Any] = table_of(readers)(table, key, value)
    return found


_SETTINGS: dict[str, Reader] = {
    "workflows": path,
    "generated": path,
    "ignore": texts,
    "exclude": texts,
    "tools": texts,
    "elicit": flag,
    "engine": one_of("sqlite", "temporal"),
    "limits": _limits,
    "run_limits": _run_limits,
    "exec": read_exec,
    "temporal": _temporal,
}
