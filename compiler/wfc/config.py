"""`[tool.wfc]` in pyproject.toml: where things are, what to ignore, how much is allowed."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from wfc.codes import refusal
from wfc.exec_settings import ExecSettings, read_exec
from wfc.suggest import did_you_mean


class ConfigError(Exception):
    """The settings can't be used. The message says which and why."""


@dataclass(frozen=True)
class CompileLimits:
    """How large a workflow may be. Each message that names a limit comes from here."""

    source_bytes: int = 1024 * 1024
    nesting: int = 5
    steps: int = 1000
    fields: int = 2000
    call_depth: int = 5
    yaml_depth: int = 64
    yaml_nodes: int = 100_000


@dataclass(frozen=True)
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
    path = root / "pyproject.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    tool = data.get("tool")
    table = tool.get("wfc") if isinstance(tool, dict) else None
    if table is None:
        return Config(root)
    return _config(root, table, str(path))


_TEXTS = ("workflows", "generated")
_LISTS = ("ignore", "exclude", "tools")
_OTHERS = ("limits", "run_limits", "elicit", "exec", "engine", "temporal")


def _config(root: Path, table: Any, where: str) -> Config:
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: [tool.wfc] must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in _TEXTS:
            values[key] = _text(where, key, value)
        elif key in _LISTS:
            values[key] = _texts(where, key, value)
        elif key == "limits":
            values[key] = _limits(where, value)
        elif key == "run_limits":
            values[key] = _run_limits(where, value)
        elif key == "engine":
            values[key] = _engine(where, value)
        elif key == "temporal":
            values[key] = _temporal(where, value)
        elif key == "elicit":
            values[key] = _flag(where, key, value)
        elif key == "exec":
            values[key] = read_exec(value, lambda why: ConfigError(f"{where}: [tool.wfc.exec] {why}"))
        else:
            hint = did_you_mean(key, (*_TEXTS, *_LISTS, *_OTHERS))
            raise ConfigError(f"{where}: [tool.wfc] has no setting `{key}`; {hint}")
    for code in values.get("ignore", ()):
        if wrong := refusal(code):
            raise ConfigError(f"{where}: [tool.wfc] ignore {wrong}")
    calls = values["limits"].call_depth if "limits" in values else CompileLimits.call_depth
    if calls != CompileLimits.call_depth:
        # What may be compiled may be run: each call is a run inside another.
        values["run_limits"] = {"depth": calls + 1, **values.get("run_limits", {})}
    return Config(root, configured=True, **values)


def _text(where: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value or Path(value).is_absolute() or ".." in Path(value).parts:
        raise ConfigError(f"{where}: [tool.wfc] {key} must be a path inside the project, as text")
    return value


def _texts(where: str, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where}: [tool.wfc] {key} must be a list of text")
    return tuple(value)


def _flag(where: str, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where}: [tool.wfc] {key} must be true or false")
    return value


def _engine(where: str, value: Any) -> str:
    if value not in ("sqlite", "temporal"):
        raise ConfigError(f'{where}: [tool.wfc] engine must be "sqlite" or "temporal"')
    return str(value)


def _temporal(where: str, value: Any) -> dict[str, Any]:
    # Not at the top: only a project that has this table pays for it.
    from wfc_runtime.service.temporal.settings import SETTABLE

    if not isinstance(value, dict):
        raise ConfigError(f"{where}: [tool.wfc.temporal] must be a table")
    for key, one in value.items():
        if key == "api_key":
            raise ConfigError(
                f"{where}: [tool.wfc.temporal] must not hold the API key; set WFC_TEMPORAL_API_KEY"
            )
        if key not in SETTABLE:
            raise ConfigError(
                f"{where}: [tool.wfc.temporal] has no setting `{key}`; {did_you_mean(key, SETTABLE)}"
            )
        if key == "tls" and not isinstance(one, bool):
            raise ConfigError(f"{where}: [tool.wfc.temporal] tls must be true or false")
        if key != "tls" and not (isinstance(one, str) and one):
            raise ConfigError(f"{where}: [tool.wfc.temporal] {key} must be text")
    return value


def _limits(where: str, value: Any) -> CompileLimits:
    known = {item.name for item in fields(CompileLimits)}
    return CompileLimits(**_numbers(where, "limits", value, known))


def _run_limits(where: str, value: Any) -> dict[str, int]:
    # Not at the top: only a project that has this table pays for it.
    from wfc_runtime.machine.limits import Limits

    known = {item.name for item in fields(Limits) if item.name != "expressions"}
    return _numbers(where, "run_limits", value, known)


def _numbers(where: str, table: str, value: Any, known: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: [tool.wfc.{table}] must be a table")
    for key, number in value.items():
        if key not in known:
            raise ConfigError(f"{where}: [tool.wfc.{table}] has no limit `{key}`; {did_you_mean(key, known)}")
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ConfigError(f"{where}: [tool.wfc.{table}] {key} must be a whole number of 1 or more")
    return value
